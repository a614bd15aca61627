// erfc: the normal distribution function, without cancellation for negative x.
//
// erfc(z) = t exp(-z^2 + p(t)) with t = 1 / (1 + z / 2), p a polynomial of degree 9: relative
// error below 1.2e-7 for every z >= 0, so that the far tail of GELU keeps its digits.
//
// needs   Elem, f32 or a vector of them
// source  Press et al. 1992, Numerical Recipes in C, sec. 6.2 (Chebyshev fit of erfc)

// exp of less is below the least normal f32 (1.2e-38); squares that overflow stop here too
const EXP_FLOOR: f32 = -87.0;
const SQRT_HALF: f32 = 0.7071067811865476;
const INV_SQRT_2PI: f32 = 0.3989422804014327;

fn erfc_positive(z: Elem) -> Elem {
  let t = 1.0 / fma(Elem(0.5), z, Elem(1.0));
  var p = Elem(0.17087277);
  p = fma(p, t, Elem(-0.82215223));
  p = fma(p, t, Elem(1.48851587));
  p = fma(p, t, Elem(-1.13520398));
  p = fma(p, t, Elem(0.27886807));
  p = fma(p, t, Elem(-0.18628806));
  p = fma(p, t, Elem(0.09678418));
  p = fma(p, t, Elem(0.37409196));
  p = fma(p, t, Elem(1.00002368));
  p = fma(p, t, Elem(-1.26551223));
  return t * exp(max(fma(-z, z, p), Elem(EXP_FLOOR)));
}

fn normal_cdf(x: Elem) -> Elem {
  let tail = 0.5 * erfc_positive(abs(x) * SQRT_HALF);
  return select(1.0 - tail, tail, x < Elem(0.0));
}

fn normal_density(x: Elem) -> Elem {
  return INV_SQRT_2PI * exp(max(-0.5 * x * x, Elem(EXP_FLOOR)));
}

// x Phi(x)
fn gelu(x: Elem) -> Elem {
  return x * normal_cdf(x);
}

// Phi(x) + x phi(x), the slope of x Phi(x)
fn gelu_slope(x: Elem) -> Elem {
  return fma(x, normal_density(x), normal_cdf(x));
}
