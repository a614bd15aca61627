// bias_bwd: gradient of a bias, written or added.
//
//   forward: y = x w + b
//   db[n] = sum_m dy[m, n]
//
// A workgroup owns a strip of STRIP columns of elements; LANES threads share the rows of each.
//
// reads   dy (M, N)
// writes  db (N)
// grid    a workgroup of WG = STRIP LANES threads per strip
// limits  N a multiple of WIDTH
// exact   sums in a tree: not bit-equal to numpy, see tol in ops/matmul.py
// source  own

@group(0) @binding(0) var<storage, read> dy: array<Elem>;
@group(0) @binding(1) var<storage, read_write> db: array<Elem>;

const ELEMS: u32 = N / WIDTH;
const ROUNDS: u32 = (M + LANES - 1u) / LANES;

alias Sum = Elem;

fn join(a: Sum, b: Sum) -> Sum {
  return a + b;
}

@compute @workgroup_size(WG)
fn main(
  @builtin(workgroup_id) wid: vec3<u32>,
  @builtin(local_invocation_index) tid: u32,
) {
  let column = tid % STRIP;
  let lane = tid / STRIP;
  let e = linear_group(wid) * STRIP + column;
  var part = Elem();
  if (e < ELEMS) {
    for (var k = 0u; k < ROUNDS; k++) {
      let m = k * LANES + lane;
      if (m < M) {
        part += dy[m * ELEMS + e];
      }
    }
  }
  var sum = join_lanes(part, column, STRIP, lane);
  if (lane > 0u || e >= ELEMS) {
    return;
  }
  if (DB_ADDS) {
    sum += db[e];
  }
  db[e] = sum;
}
