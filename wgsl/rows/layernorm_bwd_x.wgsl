// layernorm_bwd_x: gradient of a layer norm's input, written or added.
//
//   forward: y = w n + b, n = (x - mean) rstd
//   g = dy w
//   dx = rstd (g - sum_c g / C - n sum_c (g n) / C)
//
// A row is loaded once: each of its LANES threads holds HELD elements of g and n in registers.
//
// reads   x (R, C)  w (C)  mean (R)  rstd (R)  dy (R, C)
// writes  dx (R, C)
// grid    LANES threads per row, WG threads a workgroup
// limits  C a multiple of WIDTH; 2 HELD elements in registers
// exact   sums in a tree: not bit-equal to numpy, see tol in ops/layernorm.py
// source  own derivation from arXiv 1607.06450, sec. 3

@group(0) @binding(0) var<storage, read> x: array<Elem>;
@group(0) @binding(1) var<storage, read> w: array<Elem>;
@group(0) @binding(2) var<storage, read> mean: array<f32>;
@group(0) @binding(3) var<storage, read> rstd: array<f32>;
@group(0) @binding(4) var<storage, read> dy: array<Elem>;
@group(0) @binding(5) var<storage, read_write> dx: array<Elem>;

const ELEMS: u32 = C / WIDTH;
const HELD: u32 = (ELEMS + LANES - 1u) / LANES;

alias Sum = vec2<f32>;  // of g and of g n

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
  let mean_r = mean[r];
  let rstd_r = rstd[r];
  var g: array<Elem, HELD>;
  var n: array<Elem, HELD>;
  var sum = Sum();
  for (var k = 0u; k < HELD; k++) {
    let e = k * LANES + lane;
    if (e < ELEMS) {
      g[k] = dy[r * ELEMS + e] * w[e];
      n[k] = (x[r * ELEMS + e] - mean_r) * rstd_r;
      sum += Sum(total(g[k]), total(g[k] * n[k]));
    }
  }
  let means = join_lanes(sum, tid - lane, 1u, lane) / f32(C);
  if (number >= R) {
    return;
  }
  for (var k = 0u; k < HELD; k++) {
    let e = k * LANES + lane;
    if (e < ELEMS) {
      var value = (g[k] - means.x - n[k] * means.y) * rstd_r;
      if (DX_ADDS) {
        value += dx[r * ELEMS + e];
      }
      dx[r * ELEMS + e] = value;
    }
  }
}
