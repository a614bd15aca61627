// grouped_layernorm_bwd_wb: gradients of the weights and biases of G layer norms.
//
//   forward: y = w n + b, n = (x - mean) rstd
//   dw[g, c] = sum_r dy[g, r, c] n[g, r, c], and 0 from c = C on
//   db[g, c] = sum_r dy[g, r, c], and 0 from c = C on
//
// The ends of the work; the sums are a file of wgsl/rows/.
//
// reads   x (G, R, C)  mean (G, R)  rstd (G, R)  dy (G, R, C)
// writes  dw (G, W)  db (G, W)
// grid    as the sums want, G times
// limits  C and W multiples of WIDTH, W at least C
// exact   see the sums and tol in ops/layernorm.py
// source  own derivation from arXiv 1607.06450, sec. 3

@group(0) @binding(0) var<storage, read> x: array<Elem>;
@group(0) @binding(1) var<storage, read> mean: array<f32>;
@group(0) @binding(2) var<storage, read> rstd: array<f32>;
@group(0) @binding(3) var<storage, read> dy: array<Elem>;
@group(0) @binding(4) var<storage, read_write> dw: array<Elem>;
@group(0) @binding(5) var<storage, read_write> db: array<Elem>;

const ELEMS: u32 = C / WIDTH;
const VECTOR: u32 = W / WIDTH;
const PADDED: u32 = VECTOR - ELEMS + 1u; // the last element of a vector and its padding

fn dy_at(r: u32, e: u32) -> Elem {
  return dy[(member * R + r) * ELEMS + e];
}

fn n_at(r: u32, e: u32) -> Elem {
  let row = member * R + r;
  return (x[row * ELEMS + e] - mean[row]) * rstd[row];
}

fn put(e: u32, sum_w: Elem, sum_b: Elem) {
  let at = member * VECTOR + e;
  for (var i = 0u; i < PADDED; i++) {
    if (i == 0u || e == ELEMS - 1u) {
      dw[at + i] = select(Elem(), sum_w, i == 0u);
      db[at + i] = select(Elem(), sum_b, i == 0u);
    }
  }
}
