// exp, the tail of the normal distribution, and GELU made of it, four at a time.
#pragma once

#include "simd.h"

namespace tabgrad {

// exp(hi + lo) for |lo| <= 0.05: relative error <= 2e-7 in float32.
//
//   n = round(hi / ln 2), r = hi - n ln 2 + lo, exp = 2^n (1 + r + r^2 P(r))
//
// P is a minimax fit on |r| <= 0.395 (7.6e-9). ln 2 is split so that n ln 2 is exact.
// NaN stays NaN; below -104 the result is 0, above 89 infinity.
inline F4 exp_sum(F4 hi, F4 lo) {
  constexpr float SHIFT = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
  hi = at_most(at_least(hi, splat(-104.0f)), splat(89.0f));
  const F4 shifted = madd(hi, splat(1.44269504f), splat(SHIFT));
  const F4 n = shifted - splat(SHIFT);
  F4 r = madd(n, splat(-0.693359375f), hi);
  r = madd(n, splat(2.12194440e-4f), r) + lo;
  F4 p = splat(0.0013792864f);
  p = madd(p, r, splat(0.0083792479f));
  p = madd(p, r, splat(0.0416695587f));
  p = madd(p, r, splat(0.1666642129f));
  p = madd(p, r, splat(0.49999985f));
  const F4 unscaled = madd(p * r, r, r) + splat(1.0f);
  // 2^n as two powers: n reaches from -150, where results are subnormal, to 128
  const I4 whole = reinterpret_cast<I4>(shifted) - reinterpret_cast<I4>(splat(SHIFT));
  const I4 half = whole >> 1;
  const F4 first = reinterpret_cast<F4>((half + 127) << 23);
  const F4 second = reinterpret_cast<F4>((whole - half + 127) << 23);
  return unscaled * first * second;
}

inline F4 exp4(F4 x) { return exp_sum(x, splat(0)); }

// What GELU needs of the normal distribution at u >= 0.
struct Normal {
  F4 tail;   // Q(u) = erfc(u / sqrt 2) / 2
  F4 decay;  // exp(-u^2 / 2)
};

// Q(u) = exp(-u^2 / 2) t P(t), t = 1 / (1 + 0.35 u).
//
// P is a minimax fit of degree 8 on 0 <= u <= 14.5: relative error 5.2e-8, before float32
// rounding adds up to 3e-7. u^2 / 2 is taken as an exact part and a rest, so that the
// error does not grow with u. Beyond 14.5 both results are 0 in float32.
inline Normal normal_at(F4 u) {
  u = at_most(u, splat(14.5f));
  const F4 t = splat(1.0f) / madd(u, splat(0.35f), splat(1.0f));
  F4 p = splat(-0.0291578956f);
  p = madd(p, t, splat(0.144030973f));
  p = madd(p, t, splat(-0.255839109f));
  p = madd(p, t, splat(0.159319803f));
  p = madd(p, t, splat(-0.0232124254f));
  p = madd(p, t, splat(0.105552532f));
  p = madd(p, t, splat(0.11982128f));
  p = madd(p, t, splat(0.139863521f));
  p = madd(p, t, splat(0.139621302f));
  const F4 top = reinterpret_cast<F4>(reinterpret_cast<I4>(u) & ~0xfff);  // 12 bits
  const F4 half = splat(-0.5f);
  const F4 decay = exp_sum(half * top * top, half * (u - top) * (u + top));
  return {decay * t * p, decay};
}

inline F4 magnitude(F4 x) { return reinterpret_cast<F4>(reinterpret_cast<I4>(x) & 0x7fffffff); }

// Phi(x) = Q(-x) for x < 0, without cancellation, else 1 - Q(x).
inline F4 normal_cdf(F4 x, F4 tail) { return select(x < splat(0), tail, splat(1.0f) - tail); }

// x Phi(x). Source: Hendrycks and Gimpel 2016 (arXiv 1606.08415), the exact form.
inline F4 gelu4(F4 x) { return x * normal_cdf(x, normal_at(magnitude(x)).tail); }

// The slope of gelu4: Phi(x) + x phi(x).
inline F4 gelu_slope4(F4 x) {
  constexpr float INVERSE_SQRT_2PI = 0.39894228f;
  const Normal normal = normal_at(magnitude(x));
  const F4 density = splat(INVERSE_SQRT_2PI) * normal.decay;
  return madd(x, density, normal_cdf(x, normal.tail));
}

}  // namespace tabgrad
