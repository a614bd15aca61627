// Operands of a product, and their panels: the order in which a tile reads them.
#pragma once

#include <algorithm>
#include <cstddef>

#include "simd.h"

namespace tabgrad {

inline constexpr std::size_t SLICE = 256;       // of K: the panels that a tile reads stay in L1
inline constexpr std::size_t SIDE_BY_SIDE = 4;  // panels that are filled together

// An operand as rows of vectors along K: element (i, k) is p[i * step + k * k_step].
struct Operand {
  const float* p;
  std::size_t step;
  std::size_t k_step;

  Operand at(std::size_t i, std::size_t k) const {
    return {p + i * step + k * k_step, step, k_step};
  }
};

// Where the panels of one operand lie: slices of K, one after the other, each with its depth
// of all panels.
struct Panels {
  float* p;
  std::size_t n;  // vectors, filled up to whole panels

  // Where vector i of the slice from k on begins; the slice is `depth` deep.
  float* at(std::size_t i, std::size_t k, std::size_t depth) const { return p + k * n + i * depth; }
};

// Where the groups of four of a panel's row begin; the last two overlap where W is no
// multiple of four.
template <std::size_t W, typename Body>
inline void groups(Body body) {
  for (std::size_t i = 0; i < W; i += LANES) body(std::min(i, W - LANES));
}

// Writes `n` <= W vectors of an operand as one panel (depth, W), zeros for the missing.
template <std::size_t W>
void pack_panel(float* panel, const Operand& from, std::size_t n, std::size_t depth) {
  std::size_t k = 0;
  if (n == W && from.step == 1) {
    for (; k < depth; ++k) {
      groups<W>(
          [&](std::size_t i) { store4(panel + k * W + i, load4(from.p + k * from.k_step + i)); });
    }
  } else if (n == W && from.k_step == 1) {
    for (; k + LANES <= depth; k += LANES) {
      groups<W>([&](std::size_t i) {
        const float* p = from.p + i * from.step + k;
        F4 rows[4];
        for (std::size_t r = 0; r < LANES; ++r) rows[r] = load4(p + r * from.step);
        transpose4(rows[0], rows[1], rows[2], rows[3]);
        for (std::size_t r = 0; r < LANES; ++r) store4(panel + (k + r) * W + i, rows[r]);
      });
    }
  }
  for (; k < depth; ++k) {
    for (std::size_t i = 0; i < W; ++i) {
      panel[k * W + i] = i < n ? from.p[i * from.step + k * from.k_step] : 0.0f;
    }
  }
}

// Writes `n` vectors of an operand as panels (depth, W), one after the other.
template <std::size_t W>
void pack(float* panels, const Operand& from, std::size_t n, std::size_t depth) {
  std::size_t i = 0;
  if (from.step == 1) {
    // so that a cache line is read once, or nearly
    for (; i + SIDE_BY_SIDE * W <= n; i += SIDE_BY_SIDE * W) {
      for (std::size_t k = 0; k < depth; ++k) {
        const float* p = from.p + i + k * from.k_step;
        for (std::size_t j = 0; j < SIDE_BY_SIDE; ++j) {
          groups<W>([&](std::size_t g) {
            store4(panels + (i + j * W) * depth + k * W + g, load4(p + j * W + g));
          });
        }
      }
    }
  }
  for (; i < n; i += W) {
    pack_panel<W>(panels + i * depth, from.at(i, 0), std::min(W, n - i), depth);
  }
}

}  // namespace tabgrad
