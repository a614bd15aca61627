// norm_sums_plain: sums over rows for a layer norm's weight and bias, a thread a column.
//
// needs   R ELEMS GRID_X WG; lib/grid, lib/alone or lib/members; fn dy_at, n_at(r, e),
//         put(e, sum_w, sum_b)
// exact   sums in order of r: not bit-equal to numpy

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3<u32>) {
  let number = linear_index(gid);
  if (number >= ELEMS * G) {
    return;
  }
  let e = enter(number, ELEMS);
  var sum_w = Elem();
  var sum_b = Elem();
  for (var r = 0u; r < R; r++) {
    let g = dy_at(r, e);
    sum_w = fma(g, n_at(r, e), sum_w);
    sum_b += g;
  }
  put(e, sum_w, sum_b);
}
