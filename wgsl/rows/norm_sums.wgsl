// norm_sums: sums over rows for a layer norm's weight and bias, by strips of columns.
//
// A workgroup owns a strip of STRIP columns of elements; LANES threads share the rows of each.
//
// needs   R ELEMS STRIP LANES GRID_X WG; lib/grid, lib/lanes, lib/alone or lib/members;
//         fn dy_at, n_at(r, e), put(e, sum_w, sum_b)
// exact   sums in a tree: not bit-equal to numpy

const ROUNDS: u32 = (R + LANES - 1u) / LANES;
const STRIPS: u32 = (ELEMS + STRIP - 1u) / STRIP;

struct Sum {
  w: Elem,
  b: Elem,
}

fn join(a: Sum, b: Sum) -> Sum {
  return Sum(a.w + b.w, a.b + b.b);
}

@compute @workgroup_size(WG)
fn main(
  @builtin(workgroup_id) wid: vec3<u32>,
  @builtin(local_invocation_index) tid: u32,
) {
  let number = linear_group(wid);
  if (number >= STRIPS * G) {
    return;
  }
  let column = tid % STRIP;
  let lane = tid / STRIP;
  let e = enter(number, STRIPS) * STRIP + column;
  var part = Sum();
  if (e < ELEMS) {
    for (var k = 0u; k < ROUNDS; k++) {
      let r = k * LANES + lane;
      if (r < R) {
        let g = dy_at(r, e);
        part.w = fma(g, n_at(r, e), part.w);
        part.b += g;
      }
    }
  }
  let sum = join_lanes(part, column, STRIP, lane);
  if (lane == 0u && e < ELEMS) {
    put(e, sum.w, sum.b);
  }
}
