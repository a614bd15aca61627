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

// x = n ln 2 + r. The low bits of `shifted` are n + 127, the exponent of 2^n: adding
// 1.5 * 2^23 rounds to an integer.
struct Reduced {
  F4 shifted;
  F4 r;
};

inline Reduced reduce(F4 x) {
  const auto& c = from_memory(EXP_NUMBERS);
  const F4 shifted = madd(x, c.inverse_ln2, c.shift);
  const F4 n = shifted - c.shift;
  return {shifted, madd(n, c.ln2_low, madd(n, c.ln2_high, x))};
}

// 2^n (1 + r + r^2 P(r)): relative error <= 2e-7 in float32; n = -127 gives 0.
//
// P is a minimax fit on |r| <= 0.395 (7.6e-9).
inline F4 exp_of(Reduced x) {
  const auto& c = from_memory(EXP_NUMBERS);
  const F4 r = x.r;
  F4 sum = c.p[4];
  for (int i = 3; i >= 0; --i) sum = madd(sum, r, c.p[i]);
  sum = madd(madd(sum, r, c.one), r, c.one);
  return sum * reinterpret_cast<F4>(reinterpret_cast<I4>(x.shifted) << 23);
}

// exp(x). NaN stays NaN; what would be less than 1.2e-38 is 0; above 88.3 the result is
// infinity.
inline F4 exp4(F4 x) {
  const auto& c = from_memory(EXP_NUMBERS);
  return exp_of(reduce(at_most(at_least(x, c.lowest), c.highest)));
}

// What GELU needs of the normal distribution at u >= 0.
struct Normal {
  F4 decay;  // exp(-u^2 / 2)
  F4 ratio;  // -Q(u) / decay, where Q(u) = erfc(u / sqrt 2) / 2 is the tail
};

struct NormalNumbers {
  F4 highest = splat(13.27f);
  F4 scale = splat(0.35f);
  F4 one = splat(1.0f);
  F4 minus_half = splat(-0.5f);
  F4 inverse_sqrt_2pi = splat(0.39894228f);
  I4 top_bits = I4{} + ~0xfff;
  I4 sign = I4{} + INT32_MIN;
  F4 p[9] = {splat(-0.139621302f), splat(-0.139863521f), splat(-0.11982128f),
             splat(-0.105552532f), splat(0.0232124254f), splat(-0.159319803f),
             splat(0.255839109f),  splat(-0.144030973f), splat(0.0291578956f)};
};

inline constexpr NormalNumbers NORMAL_NUMBERS;

inline F4 masked(F4 v, I4 mask) { return reinterpret_cast<F4>(reinterpret_cast<I4>(v) & mask); }

// -Q(u) = exp(-u^2 / 2) t P(t), t = 1 / (1 + 0.35 u).
//
// P is a minimax fit of degree 8 on 0 <= u <= 14.5: relative error 5.2e-8, before float32
// rounding adds up to 3e-7. -u^2 / 2 is taken as an exact part and a rest, so that the
// error does not grow with u. Beyond 13.2 the decay is 0.
inline Normal normal_at(F4 u) {
  const auto& c = from_memory(NORMAL_NUMBERS);
  u = at_most(u, c.highest);
  const F4 t = c.one / madd(u, c.scale, c.one);
  F4 p = c.p[8];
  for (int i = 7; i >= 0; --i) p = madd(p, t, c.p[i]);
  const F4 half = c.minus_half * u;
  const F4 top = masked(u, c.top_bits);
  const F4 half_top = masked(half, c.top_bits);
  Reduced x = reduce(half_top * top);
  x.r = madd(u - top, half + half_top, x.r);
  return {exp_of(x), t * p};
}

inline F4 magnitude(F4 x) { return __builtin_elementwise_abs(x); }

struct Gelu {
  F4 y;      // x Phi(x)
  F4 slope;  // Phi(x) + x phi(x)
};

// y = max(x, 0) - u Q(u) with u = |x|: no cancellation for x < 0. With w = u phi(u) - Q(u)
// the slope is 1 + w for x >= 0 and -w for x < 0. Relative errors of y, and of the slope
// beside the sizes of its terms, are below 5e-7. What is not used is not computed.
// Source: Hendrycks and Gimpel 2016 (arXiv 1606.08415), the exact form.
inline Gelu gelu4(F4 x) {
  const auto& c = from_memory(NORMAL_NUMBERS);
  const F4 u = magnitude(x);
  const Normal normal = normal_at(u);
  const F4 w = normal.decay * madd(u, c.inverse_sqrt_2pi, normal.ratio);
  const I4 is_negative = x < splat(0);
  const I4 signed_w = reinterpret_cast<I4>(w) ^ (is_negative & c.sign);
  return {.y = madd(u, normal.decay * normal.ratio, at_least(x, splat(0))),
          .slope = masked(c.one, ~is_negative) + reinterpret_cast<F4>(signed_w)};
}

}  // namespace tabgrad
