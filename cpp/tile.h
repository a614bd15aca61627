// A tile of outputs in registers: what every matrix product is made of.
#pragma once

#include <cstddef>

#include "simd.h"

namespace tabgrad {

inline constexpr std::size_t TILE_ROWS = 4;
inline constexpr std::size_t TILE_COLUMNS = 8;

// Rows of a product's tile: with 12 sums under way, no FMA waits for the one before. A
// product apart from its sum needs registers that 12 sums leave no room for. The native
// build of the tests follows the builds with FMA.
#if defined(__wasm__) && !defined(__wasm_relaxed_simd__)
inline constexpr std::size_t PRODUCT_ROWS = 4;
#else
inline constexpr std::size_t PRODUCT_ROWS = 6;
#endif

template <std::size_t ROWS>
struct Tile {
  F4 v[ROWS][2] = {};

  // this += a b over `depth`: a(i, k) = a[i a_row + k a_k], b(k, j) = b[k b_k + j].
  // Sums run from k = 0 up, one product at a time.
  [[gnu::always_inline]] void add_product(std::size_t depth, const float* a, std::size_t a_row,
                                          std::size_t a_k, const float* b, std::size_t b_k) {
    Tile sum = *this;  // a local copy stays in registers
    for (std::size_t k = 0; k < depth; ++k) {
      const F4 b0 = load4(b);
      const F4 b1 = load4(b + LANES);
      for (std::size_t i = 0; i < ROWS; ++i) {
        const F4 a_i = splat(a[i * a_row]);
        sum.v[i][0] = madd(a_i, b0, sum.v[i][0]);
        sum.v[i][1] = madd(a_i, b1, sum.v[i][1]);
      }
      a += a_k;
      b += b_k;
    }
    *this = sum;
  }

  void load(const float* p, std::size_t row) {
    for (std::size_t i = 0; i < ROWS; ++i) {
      v[i][0] = load4(p + i * row);
      v[i][1] = load4(p + i * row + LANES);
    }
  }

  void store(float* p, std::size_t row) const {
    for (std::size_t i = 0; i < ROWS; ++i) {
      store4(p + i * row, v[i][0]);
      store4(p + i * row + LANES, v[i][1]);
    }
  }
};

}  // namespace tabgrad
