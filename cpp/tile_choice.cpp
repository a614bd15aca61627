#include "tile_choice.h"

#include <algorithm>
#include <limits>

#include "clock.h"
#include "peak.h"
#include "special.h"

namespace tabgrad {

namespace {

constexpr double WINDOW_MS = 0.4;
constexpr double COARSEST_MS = WINDOW_MS / 16;  // what the clock may tick in

// Good code does some 4 or more multiply-adds of a tile in the time of one add that waits
// for the add before; quick code, which keeps sums in memory, does less than 2.
constexpr double GOOD_CODE = 2.5;
constexpr double NOISE = 1.03;  // two ticks of a browser's clock in a window, and some

constexpr std::size_t SIDE = 48;  // of a block of whole tiles, whichever they are

// A block of y and its panels, which are too large for L1 as those of a product are.
struct Sample {
  std::array<float, SIDE * SLICE> x;
  std::array<float, SIDE * SLICE> w;
  std::array<float, SIDE * SIDE> y;
};

Sample sample;

// Whether the least of the clock's next ticks is too long, or none comes soon.
bool is_clock_coarse() {
  constexpr int TICKS = 4;
  constexpr int LOOKS = 4000;
  double last = now_ms();
  double least = 2 * COARSEST_MS;
  for (int looks = 0, ticks = 0; looks < LOOKS && ticks < TICKS; ++looks) {
    const double now = now_ms();
    if (now == last) continue;
    least = std::min(least, now - last);
    last = now;
    ++ticks;
  }
  return least > COARSEST_MS;
}

// GFLOP/s of a tile for WINDOW_MS, by what products run.
double tile_gflops(const TileKernels& tile) {
  constexpr double FLOPS = 2.0 * SIDE * SIDE * SLICE;
  const Operand packed_already{nullptr, 0, 0};
  const Product p{.x = packed_already,
                  .w = packed_already,
                  .b = nullptr,
                  .y = sample.y.data(),
                  .M = SIDE,
                  .N = SIDE,
                  .K = SLICE,
                  .adds = false};
  const Packed packed{{sample.x.data(), SIDE}, {sample.w.data(), SIDE}};
  const double start = now_ms();
  double end = start;
  double flops = 0;
  while (end < start + WINDOW_MS) {
    tile.do_block(p, packed, nullptr, {0, SIDE, 0, SIDE});
    flops += FLOPS;
    end = now_ms();
  }
  return flops / (end - start) / 1e6;
}

// GFLOP/s of adds of which each waits for the one before: as many by quick code as by good
// code. A multiply-add counts as two, so does an add here.
double chain_gflops() {
  constexpr std::size_t ADDS = 64;
  constexpr std::size_t ROUNDS = 1000;
  const F4 a = from_memory(PEAK_NUMBERS).a;
  F4 sum = a;
  const double start = now_ms();
  for (std::size_t i = 0; i < ROUNDS; ++i) {
#pragma clang loop unroll(full)
    for (std::size_t j = 0; j < ADDS; ++j) sum += a;
  }
  const double ms = std::max(now_ms() - start, COARSEST_MS);
  kept = sum[0];
  return 2.0 * LANES * ADDS * ROUNDS / ms / 1e6;
}

}  // namespace

void TileChoice::time_round() {
  const double start = now_ms();
  if (spent_ms_ == 0) {
    has_coarse_clock_ = is_clock_coarse();
    if (has_coarse_clock_) return;
    sample.x.fill(1);
    sample.w.fill(1);
  }
  chain_gflops_ = std::max(chain_gflops_, chain_gflops());
  Round round{};
  for (std::size_t i = 0; i < round.size(); ++i) round[i] = tile_gflops(TILE_KERNELS[i]);
  // once more than others, as bad luck must not cost it its place
  round[DEFAULT_TILE] = std::max(round[DEFAULT_TILE], tile_gflops(TILE_KERNELS[DEFAULT_TILE]));
  const double least = *std::min_element(round.begin(), round.end());
  if (least > GOOD_CODE * chain_gflops_) rounds_[n_rounds_++] = round;
  spent_ms_ += now_ms() - start;
}

double TileChoice::gflops(std::size_t tile) const {
  double most = 0;
  for (std::size_t i = 0; is_timed() && i < ENOUGH; ++i) most = std::max(most, rounds_[i][tile]);
  return most;
}

std::size_t TileChoice::fastest() const {
  return is_timed() ? fastest_tile(rounds_.front().data(), ENOUGH) : DEFAULT_TILE;
}

std::size_t fastest_tile(const double* rounds, std::size_t n) {
  std::size_t best = DEFAULT_TILE;
  double best_ratio = NOISE;
  for (std::size_t tile = 0; tile < std::size(TILES); ++tile) {
    double ratio = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < n; ++i) {
      const double* round = rounds + i * std::size(TILES);
      ratio = std::min(ratio, round[tile] / round[DEFAULT_TILE]);
    }
    if (ratio > best_ratio) {
      best = tile;
      best_ratio = ratio;
    }
  }
  return best;
}

}  // namespace tabgrad
