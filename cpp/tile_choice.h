// Which tile is the fastest where the engine runs, by a few milliseconds of products.
#pragma once

#include <array>

#include "block.h"

namespace tabgrad {

// The number of the fastest tile by GFLOP/s of `n` rounds of all tiles: the one that did most
// beside the default in the worst of its rounds, and the default where none did more by more
// than noise.
std::size_t fastest_tile(const double* rounds, std::size_t n);

// Times all tiles in turn, round by round, until the fastest is known. A browser runs a
// function by quick code first and by good code once it is compiled, beside the program and
// some milliseconds later: only rounds by good code count.
class TileChoice {
 public:
  // Runs one round of at most some 2 ms.
  void time_round();

  // Whether another round would change nothing, or take more than all may take.
  bool is_made() const { return has_coarse_clock_ || is_timed() || spent_ms_ > MOST_MS; }

  // Whether the last rounds ran by good code.
  bool is_compiled() const { return n_rounds_ > 0; }

  // The number of the fastest tile; the default where the tiles could not be timed.
  std::size_t fastest() const;

  // GFLOP/s of a tile on one thread in its best round, 0 where the tiles could not be timed.
  double gflops(std::size_t tile) const;

 private:
  static constexpr double MOST_MS = 8;  // and the round under way then
  static constexpr std::size_t ENOUGH = 3;

  using Round = std::array<double, std::size(TILES)>;

  bool is_timed() const { return n_rounds_ == ENOUGH; }

  std::array<Round, ENOUGH> rounds_{};
  std::size_t n_rounds_ = 0;
  double chain_gflops_ = 0;
  double spent_ms_ = 0;
  bool has_coarse_clock_ = false;
};

}  // namespace tabgrad
