// grouped_linear_bwd_wb: gradients of the weights and biases of G linear layers.
//
//   forward: y = x w + b
//   dw[g, m, n] = sum_k x[g, k, m] dy[g, k, n]
//   db[g, n] = sum_k dy[g, k, n], and 0 from n = N on
//
// The epilogue; the product itself is a file of wgsl/matmul/.
//
// reads   x (G, K, M)  dy (G, K, N)
// writes  dw (G, M, N)  db (G, W)
// grid    as the product wants, G times
// limits  W at least N, and a multiple of WIDTH
// exact   sums in order of k, with fma: not bit-equal to numpy, see tol in ops/matmul.py
// source  own; the products as in Goto and van de Geijn 2008

@group(0) @binding(0) var<storage, read> x: array<Elem>;
@group(0) @binding(1) var<storage, read> dy: array<Elem>;
@group(0) @binding(2) var<storage, read_write> dw: array<Elem>;
@group(0) @binding(3) var<storage, read_write> db: array<Elem>;

const ROW: u32 = N / WIDTH;
const VECTOR: u32 = W / WIDTH;
const PADDED: u32 = VECTOR - ROW + 1u; // the last element of a vector and its padding

fn operand_x(at: u32) -> Elem {
  return x[member * (K * M / WIDTH) + at];
}

fn operand_w(at: u32) -> Elem {
  return dy[member * K * ROW + at];
}

// Takes the sums of row m at columns WIDTH n to WIDTH n + WIDTH - 1.
fn put(m: u32, n: u32, sum: Elem) {
  dw[(member * M + m) * ROW + n] = sum;
}

// Takes the sums over k of the second operand at columns WIDTH n to WIDTH n + WIDTH - 1.
fn put_columns(n: u32, sum: Elem) {
  let at = member * VECTOR + n;
  for (var i = 0u; i < PADDED; i++) {
    if (i == 0u || n == ROW - 1u) {
      db[at + i] = select(Elem(), sum, i == 0u);
    }
  }
}
