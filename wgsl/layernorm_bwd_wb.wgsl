// layernorm_bwd_wb: gradients of a layer norm's weight and bias, written or added.
//
//   forward: y = w n + b, n = (x - mean) rstd
//   dw = sum_r dy n
//   db = sum_r dy
//
// The ends of the work; the sums are a file of wgsl/rows/.
//
// reads   x (R, C)  mean (R)  rstd (R)  dy (R, C)
// writes  dw (C)  db (C)
// grid    as the sums want
// limits  C a multiple of WIDTH
// exact   see the sums and tol in ops/layernorm.py
// source  own derivation from arXiv 1607.06450, sec. 3

@group(0) @binding(0) var<storage, read> x: array<Elem>;
@group(0) @binding(1) var<storage, read> mean: array<f32>;
@group(0) @binding(2) var<storage, read> rstd: array<f32>;
@group(0) @binding(3) var<storage, read> dy: array<Elem>;
@group(0) @binding(4) var<storage, read_write> dw: array<Elem>;
@group(0) @binding(5) var<storage, read_write> db: array<Elem>;

const ELEMS: u32 = C / WIDTH;

fn dy_at(r: u32, e: u32) -> Elem {
  return dy[r * ELEMS + e];
}

fn n_at(r: u32, e: u32) -> Elem {
  return (x[r * ELEMS + e] - mean[r]) * rstd[r];
}

fn put(e: u32, sum_w: Elem, sum_b: Elem) {
  var w = sum_w;
  var b = sum_b;
  if (DW_ADDS) {
    w += dw[e];
  }
  if (DB_ADDS) {
    b += db[e];
  }
  dw[e] = w;
  db[e] = b;
}
