// Global-norm clipping and AdamW over flat arenas.
// N elements, P partial sums, S slots of a ring or steps of scalars.
// Source: Loshchilov and Hutter 2019 (arXiv 1711.05101), algorithm 2, with the decay
// multiplied by the learning rate as PyTorch does.

#include <algorithm>
#include <cmath>

#include "contract.h"
#include "simd.h"
#include "team.h"

namespace tabgrad {

namespace {

inline constexpr float HALTED = -1.0f;  // a scale that lets adamw_update change nothing

constexpr std::size_t SQNORM_COLUMNS = 32;  // that a thread sums at once: half its registers

// VECTORS times four partial sums from p on, of the rows of P numbers in the first `whole`.
template <std::size_t VECTORS, typename Io>
void sum_squares(const SqnormFwd& a, Io io, std::size_t p, std::size_t whole) {
  F4 sums[VECTORS] = {};
  for (std::size_t first = 0; first < whole; first += a.P) {
    for (std::size_t i = 0; i < VECTORS; ++i) {
      const F4 g = io.load(a.g + first + p + i * LANES);
      sums[i] = madd(g, g, sums[i]);
    }
  }
  for (std::size_t i = 0; i < VECTORS; ++i) io.store(a.partial + p + i * LANES, sums[i]);
}

}  // namespace

// sqnorm_fwd: partial[p] = sum of g[i]^2 over i = p, p + P, p + 2 P, ...
//
// reads   g (N)
// writes  partial (P)
// alias   partial is not g
void sqnorm_fwd(const SqnormFwd& a, Part& part) {
  const std::size_t whole = a.N / a.P * a.P;
  part.share(a.P, SQNORM_COLUMNS, [&](std::size_t begin, std::size_t end) {
    if (end - begin == SQNORM_COLUMNS) {
      sum_squares<SQNORM_COLUMNS / LANES>(a, FullLanes{}, begin, whole);
    } else {
      lanes(begin, end, [&](auto io, std::size_t p) { sum_squares<1>(a, io, p, whole); });
    }
    // what is left of g is less than a row
    lanes(begin, std::min(end, a.N - whole), [&](auto io, std::size_t p) {
      const F4 g = io.load(a.g + whole + p);
      io.store(a.partial + p, madd(g, g, io.load(a.partial + p)));
    });
  });
}

// clip_scale: ring[index % S] = norm = sqrt(sum partial),
// scale = min(1, GRAD_CLIP / (norm + CLIP_EPS)), or 1 where GRAD_CLIP is 0.
//
// Where the norm or loss[index % S] is not finite, or scale is negative, it becomes -1:
// the weights halt until the host writes another scale.
//
// reads   partial (N)  index (1)  loss (S)
// updates ring (S)  scale (1)
// alias   none of them is another
void clip_scale(const ClipScale& a, Part& part) {
  part.once([&] {
    double sum = 0;
    for (std::size_t i = 0; i < a.N; ++i) sum += static_cast<double>(a.partial[i]);
    const double norm = std::sqrt(sum);
    const std::size_t slot = *a.index % a.S;
    a.ring[slot] = static_cast<float>(norm);
    const double wanted = a.GRAD_CLIP > 0 ? a.GRAD_CLIP / (norm + a.CLIP_EPS) : 1.0;
    const bool is_finite = std::isfinite(a.ring[slot]) && std::isfinite(a.loss[slot]);
    if (*a.scale < 0 || !is_finite) {
      *a.scale = HALTED;
    } else {
      *a.scale = static_cast<float>(wanted < 1.0 ? wanted : 1.0);
    }
  });
}

// adamw_update: one step of AdamW; scalars[index % S] holds lr, c1, c2.
//
//   m' = beta1 m + (1 - beta1) scale g
//   v' = beta2 v + (1 - beta2) (scale g)^2
//   w' = w - lr (decay w + c1 m' / (sqrt(c2 v') + eps))
//   decay is WEIGHT_DECAY for the first N_DECAY elements and 0 for the rest
//   a negative scale changes nothing
//
// reads   g (N)  scalars (S, 4)  index (1)  scale (1)
// updates w (N)  m (N)  v (N)
// alias   none of them is another
void adamw_update(const AdamwUpdate& a, Part& part) {
  if (*a.scale < 0) return;
  const float* scalars = a.scalars + *a.index % a.S * 4;
  const F4 lr = splat(scalars[0]);
  const F4 c1 = splat(scalars[1]);
  const F4 c2 = splat(scalars[2]);
  const F4 scale = splat(*a.scale);
  const F4 beta1 = splat(static_cast<float>(a.BETA1));
  const F4 beta2 = splat(static_cast<float>(a.BETA2));
  const F4 rest1 = splat(static_cast<float>(1.0 - a.BETA1));
  const F4 rest2 = splat(static_cast<float>(1.0 - a.BETA2));
  const F4 eps = splat(static_cast<float>(a.ADAM_EPS));
  const auto update = [&](std::size_t begin, std::size_t end, F4 decay) {
    lanes(begin, end, [&](auto io, std::size_t i) {
      const F4 g = io.load(a.g + i) * scale;
      const F4 w = io.load(a.w + i);
      const F4 m = madd(beta1, io.load(a.m + i), rest1 * g);
      const F4 v = madd(beta2, io.load(a.v + i), rest2 * (g * g));
      const F4 step = c1 * m / (sqrt4(c2 * v) + eps);
      io.store(a.w + i, w - lr * madd(decay, w, step));
      io.store(a.m + i, m);
      io.store(a.v + i, v);
    });
  };
  part.share_flat(a.N, [&](std::size_t begin, std::size_t end) {
    const std::size_t edge = std::clamp(a.N_DECAY, begin, end);
    update(begin, edge, splat(static_cast<float>(a.WEIGHT_DECAY)));
    update(edge, end, splat(0));
  });
}

}  // namespace tabgrad
