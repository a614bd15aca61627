// layernorm_fwd: y = w (x - mean) rstd + b, for each row.
//
//   mean = sum_c x / C
//   rstd = 1 / sqrt(sum_c (x - mean)^2 / C + EPS)
//
// A row is loaded once: each of its LANES threads holds HELD elements in registers.
//
// reads   x (R, C)  w (C)  b (C)
// writes  y (R, C)  mean (R)  rstd (R)     mean, rstd are kept for layernorm_bwd_*
// grid    LANES threads per row, WG threads a workgroup
// limits  C a multiple of WIDTH; HELD elements in registers
// exact   sums in a tree: not bit-equal to numpy, see tol in ops/layernorm.py
// source  Ba, Kiros, Hinton 2016 (arXiv 1607.06450), sec. 3; EPS as GPT-2

@group(0) @binding(0) var<storage, read> x: array<Elem>;
@group(0) @binding(1) var<storage, read> w: array<Elem>;
@group(0) @binding(2) var<storage, read> b: array<Elem>;
@group(0) @binding(3) var<storage, read_write> y: array<Elem>;
@group(0) @binding(4) var<storage, read_write> mean: array<f32>;
@group(0) @binding(5) var<storage, read_write> rstd: array<f32>;

const ELEMS: u32 = C / WIDTH;
const HELD: u32 = (ELEMS + LANES - 1u) / LANES;

alias Sum = f32;

fn join(a: Sum, b: Sum) -> Sum {
  return a + b;
}

@compute @workgroup_size(WG)
fn main(
  @builtin(global_invocation_id) gid: vec3<u32>,
  @builtin(local_invocation_index) tid: u32,
) {
  let number = linear_index(gid) / LANES;
  let r = min(number, R - 1u);  // rows past the end: to the barriers, not to the stores
  let lane = tid % LANES;
  var held: array<Elem, HELD>;
  var sum = 0.0;
  for (var k = 0u; k < HELD; k++) {
    let e = k * LANES + lane;
    if (e < ELEMS) {
      held[k] = x[r * ELEMS + e];
      sum += total(held[k]);
    }
  }
  let mean_r = join_lanes(sum, tid - lane, 1u, lane) / f32(C);
  // a second pass: sum of x^2 minus C mean^2 would lose digits when mean is large
  var squares = 0.0;
  for (var k = 0u; k < HELD; k++) {
    if (k * LANES + lane < ELEMS) {
      held[k] -= Elem(mean_r);
      squares += total(held[k] * held[k]);
    }
  }
  let variance = join_lanes(squares, tid - lane, 1u, lane) / f32(C);
  let rstd_r = 1.0 / sqrt(variance + EPS);
  if (number >= R) {
    return;
  }
  for (var k = 0u; k < HELD; k++) {
    let e = k * LANES + lane;
    if (e < ELEMS) {
      y[r * ELEMS + e] = fma(w[e], held[k] * rstd_r, b[e]);
    }
  }
  if (lane == 0u) {
    mean[r] = mean_r;
    rstd[r] = rstd_r;
  }
}
