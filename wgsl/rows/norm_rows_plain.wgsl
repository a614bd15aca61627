// norm_rows_plain: gradients of a layer norm's input, a thread a row.
//
// needs   R C GRID_X WG; lib/grid, lib/elem1; x, w, mean, rstd, dy; fn put(at, value)
// exact   sums in order of c: not bit-equal to numpy

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
    put(row + c, (g - mean_g - n * mean_gn) * rstd_r);
  }
}
