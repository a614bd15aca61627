// layernorm_fwd: y = w (x - mean) rstd + b, for each row.
//
//   mean = sum_c x / C
//   rstd = 1 / sqrt(sum_c (x - mean)^2 / C + EPS)
//
// reads   x (R, C)  w (C)  b (C)
// writes  y (R, C)  mean (R)  rstd (R)     mean, rstd are kept for layernorm_bwd_*
// grid    one thread per row, WG threads a workgroup
// limits  none; any C
// exact   sums in order of c: not bit-equal to numpy, see tol in ops/layernorm.py
// source  Ba, Kiros, Hinton 2016 (arXiv 1607.06450), sec. 3; EPS as GPT-2

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read> w: array<f32>;
@group(0) @binding(2) var<storage, read> b: array<f32>;
@group(0) @binding(3) var<storage, read_write> y: array<f32>;
@group(0) @binding(4) var<storage, read_write> mean: array<f32>;
@group(0) @binding(5) var<storage, read_write> rstd: array<f32>;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3<u32>) {
  let r = linear_index(gid);
  if (r >= R) {
    return;
  }
  let row = r * C;
  var sum = 0.0;
  for (var c = 0u; c < C; c++) {
    sum += x[row + c];
  }
  let mean_r = sum / f32(C);
  // a second pass: sum of x^2 minus C mean^2 would lose digits when mean is large
  var squares = 0.0;
  for (var c = 0u; c < C; c++) {
    let centred = x[row + c] - mean_r;
    squares = fma(centred, centred, squares);
  }
  let rstd_r = 1.0 / sqrt(squares / f32(C) + EPS);
  for (var c = 0u; c < C; c++) {
    y[row + c] = fma(w[c], (x[row + c] - mean_r) * rstd_r, b[c]);
  }
  mean[r] = mean_r;
  rstd[r] = rstd_r;
}
