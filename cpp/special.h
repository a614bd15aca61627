// exp, the tail of the normal distribution, and GELU made of it, four at a time.
#pragma once

#include "simd.h"

namespace tabgrad {

// Numbers that a loop reads from memory, four alike. As literals, browsers build them in
// general registers at each use, which takes longer than what is done with them.
template <typename Numbers>
inline const Numbers& from_memory(const Numbers& numbers) {
  const Numbers* hidden = &numbers;
  asm("" : "+r"(hidden));
  return *hidden;
}

struct ExpNumbers {
  F4 lowest = splat(-88.0f);  // further out, exp is 0 or infinity
  F4 highest = splat(89.0f);
  F4 inverse_ln2 = splat(1.44269504f);
  F4 shift = splat(12582912.0f + 127.0f);
  F4 ln2_high = splat(-0.693359375f);  // -ln 2, split so that n times the first is exact
  F4 ln2_low = splat(2.12194440e-4f);
  F4 p[5] = {splat(0.49999985f), splat(0.1666642129f), splat(0.0416695587f), splat(0.0083792479f),
             splat(0.0013792864f)};
  F4 one = splat(1.0f);
};

inline constexpr ExpNumbers EXP_NUMBERS;

// exp(hi + lo) for |lo| <= 0.05: relative error <= 2e-7 in float32.
//
//   n = round(hi / ln 2), r = hi - n ln 2 + lo, exp = 2^n (1 + r + r^2 P(r))
//
// P is a minimax fit on |r| <= 0.395 (7.6e-9). Adding 1.5 * 2^23 rounds to an integer;
// 127 more leaves the exponent of 2^n in the low bits. NaN stays NaN; what would be less
// than 1.2e-38 is 0; above 88.3 the result is infinity.
inline F4 exp_sum(F4 hi, F4 lo) {
  const auto& c = from_memory(EXP_NUMBERS);
  hi = at_most(at_least(hi, c.lowest), c.highest);
  const F4 shifted = madd(hi, c.inverse_ln2, c.shift);
  const F4 n = shifted - c.shift;
  const F4 r = madd(n, c.ln2_low, madd(n, c.ln2_high, hi)) + lo;
  const F4 r2 = r * r;
  const F4 low = madd(c.p[1], r, c.p[0]);
  const F4 high = madd(c.p[4], r2, madd(c.p[3], r, c.p[2]));
  const F4 unscaled = madd(madd(high, r2, low), r2, r) + c.one;
  return unscaled * reinterpret_cast<F4>(reinterpret_cast<I4>(shifted) << 23);
}

inline F4 exp4(F4 x) { return exp_sum(x, splat(0)); }

// What GELU needs of the normal distribution at u >= 0.
struct Normal {
  F4 tail;   // Q(u) = erfc(u / sqrt 2) / 2
  F4 decay;  // exp(-u^2 / 2)
};

struct NormalNumbers {
  F4 highest = splat(14.5f);
  F4 scale = splat(0.35f);
  F4 one = splat(1.0f);
  F4 minus_half = splat(-0.5f);
  F4 inverse_sqrt_2pi = splat(0.39894228f);
  F4 p[9] = {splat(0.139621302f),  splat(0.139863521f),   splat(0.11982128f),
             splat(0.105552532f),  splat(-0.0232124254f), splat(0.159319803f),
             splat(-0.255839109f), splat(0.144030973f),   splat(-0.0291578956f)};
};

inline constexpr NormalNumbers NORMAL_NUMBERS;

// Q(u) = exp(-u^2 / 2) t P(t), t = 1 / (1 + 0.35 u).
//
// P is a minimax fit of degree 8 on 0 <= u <= 14.5: relative error 5.2e-8, before float32
// rounding adds up to 3e-7. u^2 / 2 is taken as an exact part and a rest, so that the
// error does not grow with u. Beyond 13.2 both results are 0.
inline Normal normal_at(F4 u) {
  const auto& c = from_memory(NORMAL_NUMBERS);
  u = at_most(u, c.highest);
  const F4 t = c.one / madd(u, c.scale, c.one);
  const F4 t2 = t * t;
  const F4 t4 = t2 * t2;
  const F4 low = madd(madd(c.p[3], t, c.p[2]), t2, madd(c.p[1], t, c.p[0]));
  const F4 high = madd(madd(c.p[7], t, c.p[6]), t2, madd(c.p[5], t, c.p[4]));
  const F4 p = madd(madd(c.p[8], t4, high), t4, low);
  const F4 top = reinterpret_cast<F4>(reinterpret_cast<I4>(u) & ~0xfff);  // 12 bits
  const F4 decay = exp_sum(c.minus_half * top * top, c.minus_half * (u - top) * (u + top));
  return {decay * t * p, decay};
}

inline F4 magnitude(F4 x) { return reinterpret_cast<F4>(reinterpret_cast<I4>(x) & 0x7fffffff); }

// Phi(x) = Q(-x) for x < 0, without cancellation, else 1 - Q(x).
inline F4 normal_cdf(F4 x, F4 tail) {
  const F4 one = from_memory(NORMAL_NUMBERS).one;
  return select(x < splat(0), tail, one - tail);
}

// x Phi(x). Source: Hendrycks and Gimpel 2016 (arXiv 1606.08415), the exact form.
inline F4 gelu4(F4 x) { return x * normal_cdf(x, normal_at(magnitude(x)).tail); }

// The slope of gelu4: Phi(x) + x phi(x).
inline F4 gelu_slope4(F4 x) {
  const Normal normal = normal_at(magnitude(x));
  const F4 density = from_memory(NORMAL_NUMBERS).inverse_sqrt_2pi * normal.decay;
  return madd(x, density, normal_cdf(x, normal.tail));
}

}  // namespace tabgrad
