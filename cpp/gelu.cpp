// GELU in its exact form, x Phi(x) with the normal distribution function Phi.
// R rows, F = 4 C channels. Source: Hendrycks and Gimpel 2016 (arXiv 1606.08415).

#include "contract.h"
#include "simd.h"
#include "special.h"
#include "team.h"

namespace tabgrad {

namespace {

// Phi(x) = Q(-x) for x < 0, without cancellation, else 1 - Q(x).
F4 normal_cdf(F4 x, F4 tail) { return select(x < splat(0), tail, splat(1.0f) - tail); }

F4 magnitude(F4 x) { return reinterpret_cast<F4>(reinterpret_cast<I4>(x) & 0x7fffffff); }

}  // namespace

// gelu_fwd: y = x Phi(x).
//
// reads   x (R, F)
// writes  y (R, F)
// alias   y may be x
void gelu_fwd(const GeluFwd& a, Part& part) {
  part.share_flat(a.R * a.F, [&](std::size_t begin, std::size_t end) {
    lanes(begin, end, [&](auto io, std::size_t i) {
      const F4 x = io.load(a.x + i);
      io.store(a.y + i, x * normal_cdf(x, normal_at(magnitude(x)).tail));
    });
  });
}

// gelu_bwd: dx = dy (Phi(x) + x phi(x)). Forward: y = x Phi(x).
//
// reads   x (R, F)  dy (R, F)
// writes  dx (R, F)
// alias   dx may be x or dy
void gelu_bwd(const GeluBwd& a, Part& part) {
  constexpr float INVERSE_SQRT_2PI = 0.39894228f;
  part.share_flat(a.R * a.F, [&](std::size_t begin, std::size_t end) {
    lanes(begin, end, [&](auto io, std::size_t i) {
      const F4 x = io.load(a.x + i);
      const Normal normal = normal_at(magnitude(x));
      const F4 density = splat(INVERSE_SQRT_2PI) * normal.decay;
      const F4 slope = madd(x, density, normal_cdf(x, normal.tail));
      io.store(a.dx + i, io.load(a.dy + i) * slope);
    });
  });
}

}  // namespace tabgrad
