// embed_bwd: gradients of both embeddings, written or added.
//
//   forward: y[b t] = wte[ids[b t]] + wpe[t]
//   dwte[v] = sum of dy over the rows with id v
//   dwpe[t] = sum_b dy[b t]
//
// One thread owns a column and walks over the rows, so no two threads add to one number: no
// atomics, and the order never varies.
//
// reads   ids (R) u32  dy (R, C)
// writes  dwte (V, C)  dwpe (T, C)
// grid    one thread per column, WG threads a workgroup
// limits  ids below V, which the host checks; C threads only, so slow where C is small
// exact   sums in order of rows: not bit-equal to numpy, see tol in ops/embed.py
// source  own

@group(0) @binding(0) var<storage, read> ids: array<u32>;
@group(0) @binding(1) var<storage, read> dy: array<f32>;
@group(0) @binding(2) var<storage, read_write> dwte: array<f32>;
@group(0) @binding(3) var<storage, read_write> dwpe: array<f32>;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3<u32>) {
  let c = linear_index(gid);
  if (c >= C) {
    return;
  }
  if (!DWTE_ADDS) {
    for (var v = 0u; v < V; v++) {
      dwte[v * C + c] = 0.0;
    }
  }
  if (!DWPE_ADDS) {
    for (var t = 0u; t < T; t++) {
      dwpe[t * C + c] = 0.0;
    }
  }
  for (var r = 0u; r < R; r++) {
    let g = dy[r * C + c];
    dwte[ids[r] * C + c] += g;
    dwpe[r % T * C + c] += g;
  }
}
