// sqnorm_fwd: partial sums of squares of a flat gradient.
//
//   partial[p] = sum of g[i]^2 over i = p, p + P, p + 2 P, ...
//
// A workgroup owns a strip of STRIP elements of partial; LANES threads share the rounds of P
// numbers, each with four loads under way at once.
//
// reads   g (N)
// writes  partial (P)
// grid    a workgroup of WG = STRIP LANES threads per strip
// limits  N and P multiples of WIDTH
// exact   sums in a tree: not bit-equal to numpy, see tol in ops/optim.py
// source  own

@group(0) @binding(0) var<storage, read> g: array<Elem>;
@group(0) @binding(1) var<storage, read_write> partial: array<Elem>;

const ELEMS: u32 = N / WIDTH;
const STRIDE: u32 = P / WIDTH;
const LEAP: u32 = STRIDE * LANES;
const FULL_ROUNDS: u32 = ELEMS / (4u * LEAP);
const REST: u32 = ELEMS - FULL_ROUNDS * 4u * LEAP;
const REST_ROUNDS: u32 = (REST + LEAP - 1u) / LEAP;

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
  let p = linear_group(wid) * STRIP + column;
  let first = lane * STRIDE + p;
  var part = Elem();
  if (p < STRIDE) {
    for (var k = 0u; k < FULL_ROUNDS; k++) {
      let i = 4u * k * LEAP + first;
      let g0 = g[i];
      let g1 = g[i + LEAP];
      let g2 = g[i + 2u * LEAP];
      let g3 = g[i + 3u * LEAP];
      part = fma(g0, g0, fma(g1, g1, fma(g2, g2, fma(g3, g3, part))));
    }
    for (var k = 0u; k < REST_ROUNDS; k++) {
      let i = (4u * FULL_ROUNDS + k) * LEAP + first;
      if (i < ELEMS) {
        part = fma(g[i], g[i], part);
      }
    }
  }
  let sum = join_lanes(part, column, STRIP, lane);
  if (lane == 0u && p < STRIDE) {
    partial[p] = sum;
  }
}
