// Which tile is the fastest where the engine runs, by a few milliseconds of products.
#pragma once

#include <array>

#include "block.h"

namespace tabgrad {

// The number of the fastest of all tiles by GFLOP/s; the default where no other is faster by
// more than noise.
std::size_t fastest_tile(const double* gflops);

// Times all tiles in turn, round by round, until the fastest is known. A browser runs a
// function by quick code first and by good code once it is compiled, beside the program and
// some milliseconds later: only rounds by good code count.
class TileChoice {
 public:
  // Runs one round of at most some 2 ms.
  void time_round();

  // Whether another round would change nothing, or take more than all may take.
  bool is_made() const { return has_coarse_clock_ || is_timed() || spent_ms_ > MOST_MS; }

  // Whether the rounds so far ran by good code.
  bool is_compiled() const { return n_good() > 0; }

  // The number of the fastest tile; the default where the tiles could not be timed.
  std::size_t fastest() const;

  // GFLOP/s of a tile on one thread, 0 where the tiles could not be timed.
  double gflops(std::size_t tile) const { return is_timed() ? tiles_[tile].gflops : 0; }

 private:
  static constexpr double MOST_MS = 8;  // and the round under way then
  static constexpr int ENOUGH = 3;

  struct Timed {
    double gflops = 0;  // of the best window
    int n_good = 0;     // windows by good code
  };

  void time_window(std::size_t tile);
  int n_good() const;
  bool is_timed() const { return n_good() >= ENOUGH; }

  std::array<Timed, std::size(TILES)> tiles_{};
  double chain_gflops_ = 0;
  double spent_ms_ = 0;
  bool has_coarse_clock_ = false;
};

}  // namespace tabgrad
