// embed_fwd: y = token embedding + position embedding, for each row.
//
//   y[b t, c] = wte[ids[b t], c] + wpe[t, c]
//
// reads   ids (R) u32  wte (V, C)  wpe (T, C)
// writes  y (R, C)
// grid    one thread per WIDTH numbers of y, WG threads a workgroup
// limits  ids below V, which the host checks; C a multiple of WIDTH
// exact   yes: one addition
// source  own

@group(0) @binding(0) var<storage, read> ids: array<u32>;
@group(0) @binding(1) var<storage, read> wte: array<Elem>;
@group(0) @binding(2) var<storage, read> wpe: array<Elem>;
@group(0) @binding(3) var<storage, read_write> y: array<Elem>;

const ELEMS: u32 = C / WIDTH;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3<u32>) {
  let i = linear_index(gid);
  if (i >= R * ELEMS) {
    return;
  }
  let r = i / ELEMS;
  let c = i % ELEMS;
  y[i] = wte[ids[r] * ELEMS + c] + wpe[r % T * ELEMS + c];
}
