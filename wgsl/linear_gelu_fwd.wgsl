// linear_gelu_fwd: y = gelu(x w + b), and the slope of gelu there.
//
//   h[m, n] = b[n] + sum_k x[m, k] w[k, n]
//   y = h Phi(h)
//   slope = Phi(h) + h phi(h), phi the normal density
//
// The epilogue; the product itself is a file of wgsl/matmul/.
//
// reads   x (M, K)  w (K, N)  b (N)
// writes  y (M, N)  slope (M, N)          slope is kept for matmul_nt_mul
// grid    as the product wants
// limits  none; any M, N, K
// exact   sums in order of k, with fma: not bit-equal to numpy, see tol in ops/matmul.py
// source  own; the products as in Goto and van de Geijn 2008

@group(0) @binding(0) var<storage, read> x: array<Elem>;
@group(0) @binding(1) var<storage, read> w: array<Elem>;
@group(0) @binding(2) var<storage, read> b: array<Elem>;
@group(0) @binding(3) var<storage, read_write> y: array<Elem>;
@group(0) @binding(4) var<storage, read_write> slope: array<Elem>;

// Takes the sums of row m at columns WIDTH n to WIDTH n + WIDTH - 1.
fn put(m: u32, n: u32, sum: Elem) {
  let at = m * (N / WIDTH) + n;
  let here = gelu(sum + b[n]);
  y[at] = here.y;
  slope[at] = here.slope;
}
