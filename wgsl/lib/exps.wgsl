// exps: a sum of exponentials relative to the largest exponent so far, which none can overflow.
//
// needs   V, WIDTH, LANES, Elem, total, largest

const ELEMS: u32 = V / WIDTH;
const ROUNDS: u32 = (ELEMS + LANES - 1u) / LANES;

alias Sum = vec2<f32>;  // the largest exponent, the sum of exp(exponent - largest)

const NO_EXPS: Sum = Sum(-3.4e38, 0.0);  // finite: infinity minus itself would be NaN

fn join(a: Sum, b: Sum) -> Sum {
  let m = max(a.x, b.x);
  return Sum(m, fma(a.y, exp(a.x - m), b.y * exp(b.x - m)));
}

// A NaN may not win the maximum, but its own exp makes the sum NaN.
fn add_exps(sum: Sum, e: Elem) -> Sum {
  let m = max(sum.x, largest(e));
  return Sum(m, fma(sum.y, exp(sum.x - m), total(exp(e - m))));
}

fn log_of(sum: Sum) -> f32 {
  return sum.x + log(sum.y);
}
