// linear_bwd_wb: gradients of the weights and the bias of a linear layer.
//
//   forward: y = x w + b
//   dw[m, n] = sum_k x[k, m] dy[k, n]
//   db[n] = sum_k dy[k, n]
//
// The epilogue; the product itself is a file of wgsl/matmul/.
//
// reads   x (K, M)  dy (K, N)
// writes  dw (M, N)  db (N)
// grid    as the product wants
// limits  none; any M, N, K
// exact   sums in order of k, with fma: not bit-equal to numpy, see tol in ops/matmul.py
// source  own; the products as in Goto and van de Geijn 2008

@group(0) @binding(0) var<storage, read> x: array<Elem>;
@group(0) @binding(1) var<storage, read> dy: array<Elem>;
@group(0) @binding(2) var<storage, read_write> dw: array<Elem>;
@group(0) @binding(3) var<storage, read_write> db: array<Elem>;

fn operand_x(at: u32) -> Elem {
  return x[at];
}

fn operand_w(at: u32) -> Elem {
  return dy[at];
}

// Takes the sums of row m at columns WIDTH n to WIDTH n + WIDTH - 1.
fn put(m: u32, n: u32, sum: Elem) {
  let at = m * (N / WIDTH) + n;
  if (DW_ADDS) {
    dw[at] += sum;
  } else {
    dw[at] = sum;
  }
}

// Takes the sums over k of the second operand at columns WIDTH n to WIDTH n + WIDTH - 1.
fn put_columns(n: u32, sum: Elem) {
  if (DB_ADDS) {
    db[n] += sum;
  } else {
    db[n] = sum;
  }
}
