// layernorm_residual_bwd_x: gradient of a layer norm's input, beside a gradient a.
//
//   forward: y = w n + b, n = (x - mean) rstd
//   g = dy w
//   dx = a + rstd (g - sum_c g / C - n sum_c (g n) / C)
//
// The ends of the work; the rows are a file of wgsl/rows/.
//
// reads   x (R, C)  w (C)  mean (R)  rstd (R)  dy (R, C)  a (R, C)
// writes  dx (R, C)
// grid    as the rows want
// limits  C a multiple of WIDTH
// exact   see the rows and tol in ops/layernorm.py
// source  own derivation from arXiv 1607.06450, sec. 3

@group(0) @binding(0) var<storage, read> x: array<Elem>;
@group(0) @binding(1) var<storage, read> w: array<Elem>;
@group(0) @binding(2) var<storage, read> mean: array<f32>;
@group(0) @binding(3) var<storage, read> rstd: array<f32>;
@group(0) @binding(4) var<storage, read> dy: array<Elem>;
@group(0) @binding(5) var<storage, read> a: array<Elem>;
@group(0) @binding(6) var<storage, read_write> dx: array<Elem>;

fn put(at: u32, value: Elem) {
  dx[at] = a[at] + value;
}
