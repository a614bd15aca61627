// xw: the operands of a product that are called x and w, and no sums of columns.

fn operand_x(at: u32) -> Elem {
  return x[at];
}

fn operand_w(at: u32) -> Elem {
  return w[at];
}

fn put_columns(n: u32, sum: Elem) {}
