// layernorm_bwd_x: gradient of a layer norm's input, written or added.
//
//   forward: y = w n + b, n = (x - mean) rstd
//   g = dy w
//   dx = rstd (g - sum_c g / C - n sum_c (g n) / C)
//
// reads   x (R, C)  w (C)  mean (R)  rstd (R)  dy (R, C)
// writes  dx (R, C)
// grid    one thread per row, WG threads a workgroup
// limits  none; any C
// exact   sums in order of c: not bit-equal to numpy, see tol in ops/layernorm.py
// source  own derivation from arXiv 1607.06450, sec. 3

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read> w: array<f32>;
@group(0) @binding(2) var<storage, read> mean: array<f32>;
@group(0) @binding(3) var<storage, read> rstd: array<f32>;
@group(0) @binding(4) var<storage, read> dy: array<f32>;
@group(0) @binding(5) var<storage, read_write> dx: array<f32>;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3<u32>) {
  let r = linear_index(gid);
  if (r >= R) {
    return;
  }
  let row = r * C;
  let mean_r = mean[r];
  let rstd_r = rstd[r];
  var sum_g = 0.0;
  var sum_gn = 0.0;
  for (var c = 0u; c < C; c++) {
    let g = dy[row + c] * w[c];
    sum_g += g;
    sum_gn = fma(g, (x[row + c] - mean_r) * rstd_r, sum_gn);
  }
  let mean_g = sum_g / f32(C);
  let mean_gn = sum_gn / f32(C);
  for (var c = 0u; c < C; c++) {
    let g = dy[row + c] * w[c];
    let n = (x[row + c] - mean_r) * rstd_r;
    var value = (g - mean_g - n * mean_gn) * rstd_r;
    if (DX_ADDS) {
      value += dx[row + c];
    }
    dx[row + c] = value;
  }
}
