// gelu: GELU and its slope by one exp, without cancellation for negative x.
//
//   y = x Phi(x), slope = Phi(x) + x phi(x); for u >= 0, 1 - Phi(u) = exp(-u^2 / 2) t P(t)
//   with t = 1 / (1 + 0.35 u) and P of degree 8, a minimax fit on 0 <= u <= 14.5.
//
// Relative errors, of y and of the terms of slope, grow with u: the fit has 5.2e-8, rounding
// u^2 / 2 makes it 4e-6 at u = 13, and WGSL lets exp be off by 1.1e-5 more there.
//
// needs   Elem, f32 or a vector of them
// source  own fit, as in cpp/special.h

const FAR: f32 = 14.5;  // exp(-u^2 / 2) is 0 there; squares that overflow stop here too
const INV_SQRT_2PI: f32 = 0.3989422804014327;

struct Gelu {
  y: Elem,
  slope: Elem,
}

fn gelu(x: Elem) -> Gelu {
  let near = clamp(x, Elem(-FAR), Elem(FAR));
  let u = abs(near);
  let t = 1.0 / fma(Elem(0.35), u, Elem(1.0));
  var p = Elem(-0.0291578956);
  p = fma(p, t, Elem(0.144030973));
  p = fma(p, t, Elem(-0.255839109));
  p = fma(p, t, Elem(0.159319803));
  p = fma(p, t, Elem(-0.0232124254));
  p = fma(p, t, Elem(0.105552532));
  p = fma(p, t, Elem(0.11982128));
  p = fma(p, t, Elem(0.139863521));
  p = fma(p, t, Elem(0.139621302));
  let decay = exp(-0.5 * u * u);
  let tail = decay * (t * p);
  let cdf = select(1.0 - tail, tail, x < Elem(0.0));
  // a NaN may be lost in `near`, but not in y
  return Gelu(x * cdf, fma(near, INV_SQRT_2PI * decay, cdf));
}
