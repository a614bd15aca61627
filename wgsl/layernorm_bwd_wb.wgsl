// layernorm_bwd_wb: gradients of a layer norm's weight and bias, written or added.
//
//   forward: y = w n + b, n = (x - mean) rstd
//   dw = sum_r dy n
//   db = sum_r dy
//
// reads   x (R, C)  mean (R)  rstd (R)  dy (R, C)
// writes  dw (C)  db (C)
// grid    one thread per column, WG threads a workgroup
// limits  none; any C
// exact   sums in order of r: not bit-equal to numpy, see tol in ops/layernorm.py
// source  own derivation from arXiv 1607.06450, sec. 3

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read> mean: array<f32>;
@group(0) @binding(2) var<storage, read> rstd: array<f32>;
@group(0) @binding(3) var<storage, read> dy: array<f32>;
@group(0) @binding(4) var<storage, read_write> dw: array<f32>;
@group(0) @binding(5) var<storage, read_write> db: array<f32>;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3<u32>) {
  let c = linear_index(gid);
  if (c >= C) {
    return;
  }
  var sum_w = 0.0;
  var sum_b = 0.0;
  for (var r = 0u; r < R; r++) {
    let g = dy[r * C + c];
    sum_w = fma(g, (x[r * C + c] - mean[r]) * rstd[r], sum_w);
    sum_b += g;
  }
  if (DW_ADDS) {
    sum_w += dw[c];
  }
  if (DB_ADDS) {
    sum_b += db[c];
  }
  dw[c] = sum_w;
  db[c] = sum_b;
}
