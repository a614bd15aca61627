// embed_bwd: gradients of both embeddings, written or added.
//
//   forward: y[b t] = wte[ids[b t]] + wpe[t]
//   dwte[v] = sum of dy over the rows with id v
//   dwpe[t] = sum_b dy[b t]
//
// The first V STRIPS workgroups own an id and a strip of STRIP columns of elements each, and go
// through the rows, see lib/rows_of_id.wgsl. The other workgroups own elements of dwpe. No two
// threads add to one number: no atomics, and the order never varies.
//
// reads   ids (R) u32  dy (R, C)
// writes  dwte (V, C)  dwpe (T, C)
// grid    V STRIPS workgroups of WG = STRIP LANES threads, then one thread per element of dwpe
// limits  ids below V, which the host checks; C a multiple of WIDTH; reads ids V STRIPS times
// exact   sums in a tree: not bit-equal to numpy, see tol in ops/embed.py
// source  own

@group(0) @binding(0) var<storage, read> ids: array<u32>;
@group(0) @binding(1) var<storage, read> dy: array<Elem>;
@group(0) @binding(2) var<storage, read_write> dwte: array<Elem>;
@group(0) @binding(3) var<storage, read_write> dwpe: array<Elem>;

fn write_dwte(group: u32, tid: u32) {
  let v = group / STRIPS;
  let e = group % STRIPS * STRIP + tid % STRIP;
  var sum = sum_of_rows(v, 0u, e, tid);
  if (tid >= STRIP || e >= ELEMS) {
    return;
  }
  if (DWTE_ADDS) {
    sum += dwte[v * ELEMS + e];
  }
  dwte[v * ELEMS + e] = sum;
}

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_index) tid: u32) {
  let group = linear_group(wid);
  if (group >= V * STRIPS) {
    write_dwpe((group - V * STRIPS) * WG + tid);
    return;
  }
  write_dwte(group, tid);
}
