// embed_bwd: gradients of both embeddings, written or added; the first of two passes.
//
//   forward: y[b t] = wte[ids[b t]] + wpe[t]
//   dwte[v] = sum of dy over the rows with id v
//   dwpe[t] = sum_b dy[b t]
//
// Does dwpe, and writes zeros to dwte where nothing was there to add to: rows/embed_bwd_rows
// then adds.
//
// reads   ids (R) u32  dy (R, C)
// writes  dwte (V, C)  dwpe (T, C)
// grid    one thread per element of dwpe
// limits  C a multiple of WIDTH; few threads write the zeros
// exact   sums in order of windows: not bit-equal to numpy, see tol in ops/embed.py
// source  own

@group(0) @binding(0) var<storage, read> ids: array<u32>;
@group(0) @binding(1) var<storage, read> dy: array<Elem>;
@group(0) @binding(2) var<storage, read_write> dwte: array<Elem>;
@group(0) @binding(3) var<storage, read_write> dwpe: array<Elem>;

const ROUNDS: u32 = (V + T - 1u) / T;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3<u32>) {
  let i = linear_index(gid);
  write_dwpe(i);
  if (!DWTE_ADDS && i < T * ELEMS) {
    for (var round = 0u; round < ROUNDS; round++) {
      let at = round * T * ELEMS + i;
      if (at < V * ELEMS) {
        dwte[at] = Elem();
      }
    }
  }
}
