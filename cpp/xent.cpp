// Cross-entropy of logits against the next token, its gradient and its mean.
// R rows, V tokens, S slots of the ring.

#include <cmath>

#include "contract.h"
#include "simd.h"
#include "special.h"
#include "team.h"

namespace tabgrad {

namespace {

inline constexpr float LOWEST = -__builtin_inff();

float largest_of(const float* row, std::size_t n) {
  F4 largest = splat(LOWEST);
  lanes(0, n,
        [&](auto io, std::size_t i) { largest = at_least(io.load(row + i, LOWEST), largest); });
  return max_of(largest);
}

}  // namespace

// xent_fwd: loss = lse - logits[target], lse = log sum_v exp logits, for each row.
//
// reads   logits (R, V)  targets (R)
// writes  loss (R)  lse (R)                lse is kept for xent_bwd
// alias   none of them is another
// limits  targets are less than V: the host checks them
void xent_fwd(const XentFwd& a, Part& part) {
  part.share_rows(a.R, a.V, [&](std::size_t begin, std::size_t end) {
    for (std::size_t r = begin; r < end; ++r) {
      const float* logits = a.logits + r * a.V;
      const float m = largest_of(logits, a.V);
      F4 sum = splat(0);
      lanes(0, a.V,
            [&](auto io, std::size_t v) { sum += exp4(io.load(logits + v, LOWEST) - splat(m)); });
      const float lse = m + std::log(sum_of(sum));
      a.lse[r] = lse;
      a.loss[r] = lse - logits[a.targets[r]];
    }
  });
}

// xent_bwd: dlogits = (exp(logits - lse) - onehot(target)) / R.
// Forward: the mean over rows of lse - logits[target].
//
// reads   logits (R, V)  targets (R)  lse (R)
// writes  dlogits (R, V)
// alias   dlogits may be logits
void xent_bwd(const XentBwd& a, Part& part) {
  const float inverse_R = 1.0f / static_cast<float>(a.R);
  part.share_rows(a.R, a.V, [&](std::size_t begin, std::size_t end) {
    for (std::size_t r = begin; r < end; ++r) {
      const float* logits = a.logits + r * a.V;
      float* d = a.dlogits + r * a.V;
      const std::size_t target = a.targets[r];
      const F4 lse = splat(a.lse[r]);
      lanes(0, a.V, [&](auto io, std::size_t v) {
        io.store(d + v, exp4(io.load(logits + v) - lse) * splat(inverse_R));
      });
      d[target] -= inverse_R;
    }
  });
}

// xent_fwd_bwd: loss = lse - logits[target], logits = (exp(logits - lse) - onehot(target)) / R,
// lse = log sum_v exp logits, for each row.
//
// reads   targets (R)
// updates logits (R, V)                    becomes the gradient
// writes  loss (R)
// alias   none of them is another
// limits  targets are less than V: the host checks them
void xent_fwd_bwd(const XentFwdBwd& a, Part& part) {
  const float inverse_R = 1.0f / static_cast<float>(a.R);
  part.share_rows(a.R, a.V, [&](std::size_t begin, std::size_t end) {
    for (std::size_t r = begin; r < end; ++r) {
      float* logits = a.logits + r * a.V;
      const std::size_t target = a.targets[r];
      const float m = largest_of(logits, a.V);
      const float wanted = logits[target];
      F4 sum = splat(0);
      lanes(0, a.V, [&](auto io, std::size_t v) {
        const F4 p = exp4(io.load(logits + v, LOWEST) - splat(m));
        sum += p;
        io.store(logits + v, p);
      });
      const float total = sum_of(sum);
      a.loss[r] = m + std::log(total) - wanted;
      const F4 factor = splat(inverse_R / total);
      lanes(0, a.V,
            [&](auto io, std::size_t v) { io.store(logits + v, io.load(logits + v) * factor); });
      logits[target] -= inverse_R;
    }
  });
}

// loss_mean: ring[index % S] = the mean of loss.
//
// reads   loss (R)  index (1)
// updates ring (S)
// alias   none of them is another
void loss_mean(const LossMean& a, Part& part) {
  part.once([&] {
    double sum = 0;
    for (std::size_t r = 0; r < a.R; ++r) sum += static_cast<double>(a.loss[r]);
    a.ring[*a.index % a.S] = static_cast<float>(sum / static_cast<double>(a.R));
  });
}

}  // namespace tabgrad
