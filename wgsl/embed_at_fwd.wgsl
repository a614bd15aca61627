// embed_at_fwd: y = token embedding + position embedding, of one row.
//
//   y[c] = wte[ids[t], c] + wpe[t, c] for t = index % T
//
// reads   ids (T) u32  index (1) u32  wte (V, C)  wpe (T, C)
// writes  y (1, C)
// grid    one thread per number of y, WG threads a workgroup
// limits  ids below V, which the host checks
// exact   yes: one addition
// source  own

@group(0) @binding(0) var<storage, read> ids: array<u32>;
@group(0) @binding(1) var<storage, read> index: array<u32>;
@group(0) @binding(2) var<storage, read> wte: array<f32>;
@group(0) @binding(3) var<storage, read> wpe: array<f32>;
@group(0) @binding(4) var<storage, read_write> y: array<f32>;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3<u32>) {
  let c = linear_index(gid);
  if (c >= C) {
    return;
  }
  let t = index[0] % T;
  y[c] = wte[ids[t] * C + c] + wpe[t * C + c];
}
