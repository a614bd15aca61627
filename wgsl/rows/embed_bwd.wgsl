// embed_bwd: gradients of both embeddings, written or added.
//
//   forward: y[b t] = wte[ids[b t]] + wpe[t]
//   dwte[v] = sum of dy over the rows with id v
//   dwpe[t] = sum_b dy[b t]
//
// The first V STRIPS workgroups own an id and a strip of STRIP columns of elements each; LANES
// threads share the rows and look for the id. The others own elements of dwpe, one a thread.
// No two threads add to one number: no atomics, and the order never varies.
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

const ELEMS: u32 = C / WIDTH;
const STRIPS: u32 = (ELEMS + STRIP - 1u) / STRIP;
const ROUNDS: u32 = (R + LANES - 1u) / LANES;
const WINDOWS: u32 = R / T;

alias Sum = Elem;

fn join(a: Sum, b: Sum) -> Sum {
  return a + b;
}

fn write_dwte(group: u32, tid: u32) {
  let v = group / STRIPS;
  let column = tid % STRIP;
  let lane = tid / STRIP;
  let e = group % STRIPS * STRIP + column;
  var part = Elem();
  if (e < ELEMS) {
    for (var k = 0u; k < ROUNDS; k++) {
      let r = k * LANES + lane;
      if (r < R && ids[min(r, R - 1u)] == v) {
        part += dy[r * ELEMS + e];
      }
    }
  }
  var sum = join_lanes(part, column, STRIP, lane);
  if (lane > 0u || e >= ELEMS) {
    return;
  }
  if (DWTE_ADDS) {
    sum += dwte[v * ELEMS + e];
  }
  dwte[v * ELEMS + e] = sum;
}

fn write_dwpe(i: u32) {
  if (i >= T * ELEMS) {
    return;
  }
  var sum = Elem();
  for (var b = 0u; b < WINDOWS; b++) {
    sum += dy[b * T * ELEMS + i];
  }
  if (DWPE_ADDS) {
    sum += dwpe[i];
  }
  dwpe[i] = sum;
}

@compute @workgroup_size(WG)
fn main(
  @builtin(workgroup_id) wid: vec3<u32>,
  @builtin(local_invocation_index) tid: u32,
) {
  let group = linear_group(wid);
  if (group < V * STRIPS) {
    write_dwte(group, tid);
  } else {
    write_dwpe((group - V * STRIPS) * WG + tid);
  }
}
