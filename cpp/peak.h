// What a thread can multiply and add at most: products that no memory holds up.
#pragma once

#include <algorithm>

#include "clock.h"
#include "simd.h"
#include "special.h"

namespace tabgrad {

struct PeakNumbers {
  F4 a = splat(0.5f);
  F4 b = splat(0.25f);
};

inline constexpr PeakNumbers PEAK_NUMBERS;

inline volatile float kept;  // a loop whose result is of no use would not be there

inline constexpr int PEAK_CHAINS = 12;  // more than latency times pipes, fewer than registers
inline constexpr int PEAK_ROUNDS = 100'000;

inline void multiply_and_add() {
  const auto [a, b] = from_memory(PEAK_NUMBERS);
  F4 sums[PEAK_CHAINS];
  for (F4& sum : sums) sum = a;
  for (int i = 0; i < PEAK_ROUNDS; ++i) {
    for (F4& sum : sums) sum = madd(a, b, sum);
  }
  F4 all = splat(0);
  for (const F4& sum : sums) all += sum;
  kept = all[0];
}

// GFLOP/s of the best of some runs of about 0.2 ms. Call it several times: a browser
// compiles a function well only once it has run for a while, and for the next call.
inline double measured_gflops() {
  constexpr int RUNS = 50;
  constexpr double FLOPS = 2.0 * LANES * PEAK_CHAINS * PEAK_ROUNDS;
  double best_ms = 1e9;
  for (int run = 0; run < RUNS; ++run) {
    const double start = now_ms();
    multiply_and_add();
    best_ms = std::min(best_ms, std::max(now_ms() - start, 1e-3));
  }
  return FLOPS / best_ms / 1e6;
}

}  // namespace tabgrad
