// linear_gelu_fwd: y = gelu(x w + b), and what went in.
//
//   pre[m, n] = b[n] + sum_k x[m, k] w[k, n]
//   y = pre Phi(pre)
//
// The epilogue; the product itself is a file of wgsl/matmul/.
//
// reads   x (M, K)  w (K, N)  b (N)
// writes  pre (M, N)  y (M, N)
// grid    as the product wants
// limits  none; any M, N, K
// exact   sums in order of k, with fma: not bit-equal to numpy, see tol in ops/matmul.py
// source  own; the products as in Goto and van de Geijn 2008

@group(0) @binding(0) var<storage, read> x: array<Elem>;
@group(0) @binding(1) var<storage, read> w: array<Elem>;
@group(0) @binding(2) var<storage, read> b: array<Elem>;
@group(0) @binding(3) var<storage, read_write> pre: array<Elem>;
@group(0) @binding(4) var<storage, read_write> y: array<Elem>;

// Takes the sums of row m at columns WIDTH n to WIDTH n + WIDTH - 1.
fn put(m: u32, n: u32, sum: Elem) {
  let at = m * (N / WIDTH) + n;
  let value = sum + b[n];
  pre[at] = value;
  y[at] = gelu(value);
}
