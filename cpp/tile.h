// A tile of outputs in registers: what every matrix product is made of.
#pragma once

#include <cstddef>

#include "simd.h"

namespace tabgrad {

template <std::size_t ROWS, std::size_t COLUMNS>
struct Tile {
  static constexpr std::size_t VECTORS = COLUMNS / LANES;  // of a row

  F4 v[ROWS][VECTORS] = {};

  // this += a b over `depth`: a(i, k) = a[i a_row + k a_k], b(k, j) = b[k b_k + j].
  // Sums run from k = 0 up, one product at a time, so that a tile's size changes no bit.
  [[gnu::always_inline]] void add_product(std::size_t depth, const float* a, std::size_t a_row,
                                          std::size_t a_k, const float* b, std::size_t b_k) {
    Tile sum = *this;  // a local copy stays in registers
    for (std::size_t k = 0; k < depth; ++k) {
      F4 b_j[VECTORS];
      for (std::size_t j = 0; j < VECTORS; ++j) b_j[j] = load4(b + j * LANES);
      for (std::size_t i = 0; i < ROWS; ++i) {
        const F4 a_i = splat(a[i * a_row]);
        for (std::size_t j = 0; j < VECTORS; ++j) sum.v[i][j] = madd(a_i, b_j[j], sum.v[i][j]);
      }
      a += a_k;
      b += b_k;
    }
    *this = sum;
  }

  void load(const float* p, std::size_t row) {
    for (std::size_t i = 0; i < ROWS; ++i) {
      for (std::size_t j = 0; j < VECTORS; ++j) v[i][j] = load4(p + i * row + j * LANES);
    }
  }

  void store(float* p, std::size_t row) const {
    for (std::size_t i = 0; i < ROWS; ++i) {
      for (std::size_t j = 0; j < VECTORS; ++j) store4(p + i * row + j * LANES, v[i][j]);
    }
  }
};

}  // namespace tabgrad
