// layernorm_bwd_wb: gradients of a layer norm's gain and bias, written or added.
//
//   forward: y = w n + b, n = (x - mean) rstd
//   dw = sum_r dy n
//   db = sum_r dy
//
// A workgroup owns a strip of STRIP columns of elements; LANES threads share the rows of each.
//
// reads   x (R, C)  mean (R)  rstd (R)  dy (R, C)
// writes  dw (C)  db (C)
// grid    a workgroup of WG = STRIP LANES threads per strip
// limits  C a multiple of WIDTH
// exact   sums in a tree: not bit-equal to numpy, see tol in ops/layernorm.py
// source  own derivation from arXiv 1607.06450, sec. 3

@group(0) @binding(0) var<storage, read> x: array<Elem>;
@group(0) @binding(1) var<storage, read> mean: array<f32>;
@group(0) @binding(2) var<storage, read> rstd: array<f32>;
@group(0) @binding(3) var<storage, read> dy: array<Elem>;
@group(0) @binding(4) var<storage, read_write> dw: array<Elem>;
@group(0) @binding(5) var<storage, read_write> db: array<Elem>;

const ELEMS: u32 = C / WIDTH;
const ROUNDS: u32 = (R + LANES - 1u) / LANES;

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
  let column = tid % STRIP;
  let lane = tid / STRIP;
  let e = linear_group(wid) * STRIP + column;
  var part = Sum();
  if (e < ELEMS) {
    for (var k = 0u; k < ROUNDS; k++) {
      let r = k * LANES + lane;
      if (r < R) {
        let g = dy[r * ELEMS + e];
        part.w = fma(g, (x[r * ELEMS + e] - mean[r]) * rstd[r], part.w);
        part.b += g;
      }
    }
  }
  var sum = join_lanes(part, column, STRIP, lane);
  if (lane > 0u || e >= ELEMS) {
    return;
  }
  if (DW_ADDS) {
    sum.w += dw[e];
  }
  if (DB_ADDS) {
    sum.b += db[e];
  }
  dw[e] = sum.w;
  db[e] = sum.b;
}
