// Layer normalisation over the last axis. R rows, C channels.
// Source: Ba, Kiros, Hinton 2016 (arXiv 1607.06450), section 3.

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "contract.h"
#include "simd.h"
#include "team.h"

namespace tabgrad {

constexpr std::size_t NORM_COLUMNS = 16;  // that a thread sums at once: a cache line

// layernorm_fwd: y = w (x - mean) rstd + b, for each row.
//
//   mean = sum_c x / C, rstd = 1 / sqrt(sum_c (x - mean)^2 / C + EPS)
//
// reads   x (R, C)  w (C)  b (C)
// writes  y (R, C)  mean (R)  rstd (R)     mean, rstd are kept for layernorm_bwd_*
// alias   y may be x
void layernorm_fwd(const LayernormFwd& a, Part& part) {
  const float inverse_C = 1.0f / static_cast<float>(a.C);
  const float eps = static_cast<float>(a.EPS);
  part.share_rows(a.R, a.C, [&](std::size_t begin, std::size_t end) {
    for (std::size_t r = begin; r < end; ++r) {
      const float* x = a.x + r * a.C;
      float* y = a.y + r * a.C;
      const F4 sums =
          sum_lanes<F4>(0, a.C, [&](auto io, std::size_t c, F4& sum) { sum += io.load(x + c); });
      const float mean = sum_of(sums) * inverse_C;
      const F4 squares = sum_lanes<F4>(0, a.C, [&](auto io, std::size_t c, F4& sum) {
        const F4 centred = io.load(x + c, mean) - splat(mean);
        sum = madd(centred, centred, sum);
      });
      const float rstd = 1.0f / std::sqrt(sum_of(squares) * inverse_C + eps);
      lanes(0, a.C, [&](auto io, std::size_t c) {
        const F4 normed = (io.load(x + c) - splat(mean)) * splat(rstd);
        io.store(y + c, madd(io.load(a.w + c), normed, io.load(a.b + c)));
      });
      a.mean[r] = mean;
      a.rstd[r] = rstd;
    }
  });
}

// Sums of g = dy w and of g n in a row.
struct RowSums {
  F4 g;
  F4 gn;

  RowSums operator+(const RowSums& other) const { return {g + other.g, gn + other.gn}; }
};

// The rows of a norm's gradient by its input, added to the rows of `old` if there are any.
template <typename Args>
void norm_rows(const Args& a, const float* old, Part& part) {
  const float inverse_C = 1.0f / static_cast<float>(a.C);
  part.share_rows(a.R, a.C, [&](std::size_t begin, std::size_t end) {
    for (std::size_t r = begin; r < end; ++r) {
      const float* x = a.x + r * a.C;
      const float* dy = a.dy + r * a.C;
      float* dx = a.dx + r * a.C;
      const F4 mean = splat(a.mean[r]);
      const F4 rstd = splat(a.rstd[r]);
      const auto sums = sum_lanes<RowSums>(0, a.C, [&](auto io, std::size_t c, RowSums& sum) {
        const F4 g = io.load(dy + c) * io.load(a.w + c);
        sum.g += g;
        sum.gn = madd(g, (io.load(x + c) - mean) * rstd, sum.gn);
      });
      const F4 g_mean = splat(sum_of(sums.g) * inverse_C);
      const F4 gn_mean = splat(sum_of(sums.gn) * inverse_C);
      lanes(0, a.C, [&](auto io, std::size_t c) {
        const F4 g = io.load(dy + c) * io.load(a.w + c);
        const F4 n = (io.load(x + c) - mean) * rstd;
        const F4 d = (g - g_mean - n * gn_mean) * rstd;
        io.store(dx + c, old ? io.load(old + r * a.C + c) + d : d);
      });
    }
  });
}

// layernorm_bwd_x: dx = rstd (g - mean_c g - n mean_c(g n)), g = dy w, n = (x - mean) rstd.
// Forward: y = w n + b.
//
// reads   x (R, C)  w (C)  mean (R)  rstd (R)  dy (R, C)
// writes  dx (R, C)                        dx may be added to
// alias   dx may be dy or x where it is not added to
void layernorm_bwd_x(const LayernormBwdX& a, Part& part) {
  norm_rows(a, a.add_dx ? a.dx : nullptr, part);
}

// layernorm_residual_bwd_x: dx = a + the gradient of layernorm_bwd_x.
// Forward: y = w n + b, and x is used beside it, with the gradient a.
//
// reads   x (R, C)  w (C)  mean (R)  rstd (R)  dy (R, C)  a (R, C)
// writes  dx (R, C)
// alias   dx may be a
void layernorm_residual_bwd_x(const LayernormResidualBwdX& a, Part& part) {
  norm_rows(a, a.a, part);
}

// Gradients of a norm's weight and bias in VECTORS times four columns from c on.
template <std::size_t VECTORS, typename Io, typename Args>
void norm_columns(const Args& a, Io io, std::size_t c, bool adds_w, bool adds_b) {
  F4 dw[VECTORS];
  F4 db[VECTORS];
  for (std::size_t i = 0; i < VECTORS; ++i) {
    dw[i] = adds_w ? io.load(a.dw + c + i * LANES) : splat(0);
    db[i] = adds_b ? io.load(a.db + c + i * LANES) : splat(0);
  }
  for (std::size_t r = 0; r < a.R; ++r) {
    const float* x = a.x + r * a.C + c;
    const float* dy_row = a.dy + r * a.C + c;
    const F4 mean = splat(a.mean[r]);
    const F4 rstd = splat(a.rstd[r]);
    for (std::size_t i = 0; i < VECTORS; ++i) {
      const F4 dy = io.load(dy_row + i * LANES);
      dw[i] = madd(dy, (io.load(x + i * LANES) - mean) * rstd, dw[i]);
      db[i] += dy;
    }
  }
  for (std::size_t i = 0; i < VECTORS; ++i) {
    io.store(a.dw + c + i * LANES, dw[i]);
    io.store(a.db + c + i * LANES, db[i]);
  }
}

// The same in columns begin to end - 1, added to old ones or not. A whole strip is walked
// once: its rows lie C numbers apart, and a line that is left does not stay in L1.
template <typename Args>
void norm_sums(const Args& a, std::size_t begin, std::size_t end, bool adds_w, bool adds_b) {
  if (end - begin == NORM_COLUMNS) {
    return norm_columns<NORM_COLUMNS / LANES>(a, FullLanes{}, begin, adds_w, adds_b);
  }
  lanes(begin, end, [&](auto io, std::size_t c) { norm_columns<1>(a, io, c, adds_w, adds_b); });
}

// layernorm_bwd_wb: dw = sum_r dy (x - mean) rstd, db = sum_r dy.
// Forward: y = w (x - mean) rstd + b.
//
// reads   x (R, C)  mean (R)  rstd (R)  dy (R, C)
// writes  dw (C)  db (C)                   both may be added to
// alias   none of them is another
void layernorm_bwd_wb(const LayernormBwdWb& a, Part& part) {
  part.share(a.C, NORM_COLUMNS, [&](std::size_t begin, std::size_t end) {
    norm_sums(a, begin, end, a.add_dw, a.add_db);
  });
}

// grouped_layernorm_bwd_wb: the same for each of G norms; columns C to W - 1 are 0.
//
// reads   x (G, R, C)  mean (G, R)  rstd (G, R)  dy (G, R, C)
// writes  dw (G, W)  db (G, W)
// alias   none of them is another
void grouped_layernorm_bwd_wb(const GroupedLayernormBwdWb& a, Part& part) {
  const std::size_t strips = (a.C + NORM_COLUMNS - 1) / NORM_COLUMNS;
  part.share(a.G * strips, 1, [&](std::size_t number, std::size_t) {
    const std::size_t g = number / strips;
    const std::size_t begin = number % strips * NORM_COLUMNS;
    GroupedLayernormBwdWb member = a;
    member.x += g * a.R * a.C;
    member.mean += g * a.R;
    member.rstd += g * a.R;
    member.dy += g * a.R * a.C;
    member.dw += g * a.W;
    member.db += g * a.W;
    norm_sums(member, begin, std::min(a.C, begin + NORM_COLUMNS), false, false);
    if (begin + NORM_COLUMNS >= a.C) {
      std::fill(member.dw + a.C, member.dw + a.W, 0.0f);
      std::fill(member.db + a.C, member.db + a.W, 0.0f);
    }
  });
}

}  // namespace tabgrad
