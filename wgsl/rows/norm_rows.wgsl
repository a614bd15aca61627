// norm_rows: gradients of a layer norm's input, rows shared by lanes.
//
// A row is loaded once: each of its LANES threads holds HELD elements of g and n in registers.
//
// needs   R C LANES GRID_X WG; lib/grid, lib/lanes; x, w, mean, rstd, dy; fn put(at, value)
// limits  2 HELD elements in registers
// exact   sums in a tree: not bit-equal to numpy

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
      put(r * ELEMS + e, (g[k] - means.x - n[k] * means.y) * rstd_r);
    }
  }
}
