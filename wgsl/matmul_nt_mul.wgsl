// matmul_nt_mul: y = (x w^T) slope, element by element: the gradient of a GELU's input.
//
//   forward: act = gelu(h); out = act w; x is the gradient of out, slope that of gelu at h
//   y[m, n] = slope[m, n] sum_k x[m, k] w[n, k]
//
// The epilogue; the product itself is a file of wgsl/matmul/.
//
// reads   x (M, K)  w (N, K)  slope (M, N)
// writes  y (M, N)
// grid    as the product wants
// limits  none; any M, N, K
// exact   sums in order of k, with fma: not bit-equal to numpy, see tol in ops/matmul.py
// source  own; the products as in Goto and van de Geijn 2008

@group(0) @binding(0) var<storage, read> x: array<Elem>;
@group(0) @binding(1) var<storage, read> w: array<Elem>;
@group(0) @binding(2) var<storage, read> slope: array<Elem>;
@group(0) @binding(3) var<storage, read_write> y: array<Elem>;

// Takes the sums of row m at columns WIDTH n to WIDTH n + WIDTH - 1.
fn put(m: u32, n: u32, sum: Elem) {
  let at = m * (N / WIDTH) + n;
  y[at] = sum * slope[at];
}
