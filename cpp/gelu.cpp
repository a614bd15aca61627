// GELU in its exact form, x Phi(x) with the normal distribution function Phi.
// R rows, F = 4 C channels. Source: Hendrycks and Gimpel 2016 (arXiv 1606.08415).

#include "contract.h"
#include "simd.h"
#include "special.h"
#include "team.h"

namespace tabgrad {

// gelu_fwd: y = x Phi(x).
//
// reads   x (R, F)
// writes  y (R, F)
// alias   y may be x
void gelu_fwd(const GeluFwd& a, Part& part) {
  part.share_flat(a.R * a.F, [&](std::size_t begin, std::size_t end) {
    lanes(begin, end,
          [&](auto io, std::size_t i) { io.store(a.y + i, gelu4(io.load(a.x + i)).y); });
  });
}

// gelu_bwd: dx = dy (Phi(x) + x phi(x)). Forward: y = x Phi(x).
//
// reads   x (R, F)  dy (R, F)
// writes  dx (R, F)
// alias   dx may be x or dy
void gelu_bwd(const GeluBwd& a, Part& part) {
  part.share_flat(a.R * a.F, [&](std::size_t begin, std::size_t end) {
    lanes(begin, end, [&](auto io, std::size_t i) {
      io.store(a.dx + i, io.load(a.dy + i) * gelu4(io.load(a.x + i)).slope);
    });
  });
}

}  // namespace tabgrad
