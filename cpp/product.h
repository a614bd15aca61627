// How a matrix product is done: y cut into blocks for the threads, blocks into tiles.
//
// M, N rows and columns of y, K the axis summed over. n is a plain operand and t a
// transposed one. Blocks of x and w are packed into panels in the order in which a tile
// reads them, filled with zeros at the edges, so that every tile is whole.
// Source: Goto and van de Geijn 2008, "Anatomy of high-performance matrix multiplication".
#pragma once

#include <algorithm>

#include "contract.h"
#include "simd.h"
#include "team.h"
#include "tile.h"

namespace tabgrad {

// An operand as rows of vectors along K: element (i, k) is p[i * step + k * k_step].
struct Operand {
  const float* p;
  std::size_t step;
  std::size_t k_step;

  Operand at(std::size_t i, std::size_t k) const {
    return {p + i * step + k * k_step, step, k_step};
  }
};

// y = x w (+ b, or + the old y), with w given as its columns.
struct Product {
  Operand x;
  Operand w;
  const float* b;  // (N) or null
  float* y;        // (M, N)
  std::size_t M;
  std::size_t N;
  std::size_t K;
  bool adds;
  float* sums = nullptr;  // (N) or null: sum_k w
  bool adds_sums = false;
  const float* beside = nullptr;  // (M, N) or null: what is finished with y
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

template <std::size_t W>
void pack(float* panels, const Operand& from, std::size_t n, std::size_t depth) {
  std::size_t i = 0;
  if (from.step == 1) {
    // panels side by side, so that a cache line is read once, or nearly
    constexpr std::size_t PANELS = W == 8 ? 2 : 4;
    for (; i + PANELS * W <= n; i += PANELS * W) {
      for (std::size_t k = 0; k < depth; ++k) {
        const float* p = from.p + i + k * from.k_step;
        for (std::size_t j = 0; j < PANELS; ++j) {
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

// Adds the product of two panels to the tile of y at (m, n); the first one of a tile
// starts from the bias, the old y or zero instead.
inline void update_tile(const Product& p, std::size_t m, std::size_t n, std::size_t depth,
                        const float* x_panel, const float* w_panel, bool is_first) {
  const std::size_t rows = std::min(PRODUCT_ROWS, p.M - m);
  const std::size_t columns = std::min(TILE_COLUMNS, p.N - n);
  const bool is_whole = rows == PRODUCT_ROWS && columns == TILE_COLUMNS;
  const bool starts_from_y = p.adds || !is_first;
  float* y = p.y + m * p.N + n;
  float edge[PRODUCT_ROWS * TILE_COLUMNS] = {};
  Tile<PRODUCT_ROWS> tile;
  if (starts_from_y && is_whole) {
    tile.load(y, p.N);
  } else if (starts_from_y) {
    for (std::size_t i = 0; i < rows; ++i) {
      std::copy_n(y + i * p.N, columns, edge + i * TILE_COLUMNS);
    }
    tile.load(edge, TILE_COLUMNS);
  } else if (p.b != nullptr) {
    std::copy_n(p.b + n, columns, edge);
    tile.load(edge, 0);
  }
  tile.add_product(depth, x_panel, 1, PRODUCT_ROWS, w_panel, TILE_COLUMNS);
  if (is_whole) {
    tile.store(y, p.N);
    return;
  }
  tile.store(edge, TILE_COLUMNS);
  for (std::size_t i = 0; i < rows; ++i) {
    std::copy_n(edge + i * TILE_COLUMNS, columns, y + i * p.N);
  }
}

// What a thread keeps packed: a block of w, which the row blocks below each other share.
class Packed {
 public:
  explicit Packed(float* scratch) : x(scratch), w_(scratch + MATMUL_ROWS * MATMUL_DEPTH) {}

  const float* w(const Product& p, std::size_t n, std::size_t columns, std::size_t k,
                 std::size_t depth) {
    if (n != n_ || k != k_) pack<TILE_COLUMNS>(w_, p.w.at(n, k), columns, depth);
    n_ = n;
    k_ = k;
    return w_;
  }

  float* x;

 private:
  float* w_;
  std::size_t n_ = SIZE_MAX;
  std::size_t k_ = SIZE_MAX;
};

// p.sums from n on = sums over the depth of packed columns; k0 says which depth.
inline void sum_columns(const Product& p, const float* panels, std::size_t n, std::size_t columns,
                        std::size_t k0, std::size_t depth) {
  const bool starts_from_sums = p.adds_sums || k0 != 0;
  for (std::size_t j = 0; j < columns; j += TILE_COLUMNS) {
    lanes(j, std::min(columns, j + TILE_COLUMNS), [&](auto io, std::size_t at) {
      const float* panel = panels + j * depth + (at - j);
      F4 sum = starts_from_sums ? io.load(p.sums + n + at) : splat(0);
      for (std::size_t k = 0; k < depth; ++k) sum += load4(panel + k * TILE_COLUMNS);
      io.store(p.sums + n + at, sum);
    });
  }
}

// One block of y: rows from m, columns from n.
inline void do_block(const Product& p, std::size_t m, std::size_t rows, std::size_t n,
                     std::size_t columns, Packed& packed) {
  for (std::size_t k0 = 0; k0 < p.K; k0 += MATMUL_LONG_DEPTH) {
    const std::size_t long_depth = std::min(MATMUL_LONG_DEPTH, p.K - k0);
    const float* w = packed.w(p, n, columns, k0, long_depth);
    if (p.sums != nullptr && m == 0) sum_columns(p, w, n, columns, k0, long_depth);
    for (std::size_t k1 = 0; k1 < long_depth; k1 += MATMUL_DEPTH) {
      const std::size_t depth = std::min(MATMUL_DEPTH, long_depth - k1);
      pack<PRODUCT_ROWS>(packed.x, p.x.at(m, k0 + k1), rows, depth);
      for (std::size_t j = 0; j < columns; j += TILE_COLUMNS) {
        const float* w_panel = w + j * long_depth + k1 * TILE_COLUMNS;
        for (std::size_t i = 0; i < rows; i += PRODUCT_ROWS) {
          update_tile(p, m + i, n + j, depth, packed.x + i * depth, w_panel, k0 + k1 == 0);
        }
      }
    }
  }
}

// Reads a number of each cache line of a block, so that many lines are on their way from
// memory at once; a loop that computes on them has but one or two in sight.
inline void touch(const float* block, std::size_t stride, std::size_t rows, std::size_t columns) {
  constexpr std::size_t LINE = 16;
  float sum = 0;
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; j += LINE) sum += block[i * stride + j];
  }
  asm volatile("" : : "r"(sum));
}

// Rows of a block: fewer where y has few blocks, so that each thread gets its share. What
// an element is the sum of, and in which order, does not depend on it.
inline std::size_t block_rows(const Product& p, std::size_t column_blocks, std::size_t n_threads) {
  constexpr std::size_t ENOUGH = 6;  // blocks a thread
  constexpr std::size_t LEAST = 12;  // whole tiles, as twice and four times as many are
  std::size_t rows = MATMUL_ROWS;
  const auto is_few = [&] { return (p.M + rows - 1) / rows * column_blocks < ENOUGH * n_threads; };
  while (n_threads > 1 && rows > LEAST && is_few()) rows /= 2;
  return rows;
}

// Whether y has so few rows that packing w takes longer than what it saves, and w is
// (K, N) of whole tiles.
inline bool has_few_rows(const Product& p) {
  constexpr std::size_t FEW = 8;
  return p.M <= FEW && p.w.step == 1 && p.N % TILE_COLUMNS == 0 && p.sums == nullptr;
}

// Adds depth products from k on to rows from m on of 8 columns of y from n on.
template <std::size_t ROWS>
void do_strip(const Product& p, std::size_t m, std::size_t n, std::size_t k, std::size_t depth) {
  Tile<ROWS> tile;
  float* y = p.y + m * p.N + n;
  if (p.adds || k != 0) {
    tile.load(y, p.N);
  } else if (p.b != nullptr) {
    tile.load(p.b + n, 0);
  }
  const Operand x = p.x.at(m, k);
  const Operand w = p.w.at(n, k);
  tile.add_product(depth, x.p, x.step, x.k_step, w.p, w.k_step);
  tile.store(y, p.N);
}

// Each thread takes columns of y and reads its part of w once, where it lies, a piece that
// stays in L1 at a time.
template <typename Finish>
void do_few_rows(const Product& p, Part& part, Finish finish) {
  constexpr std::size_t COLUMNS = 32;  // two lines
  constexpr std::size_t DEPTH = 64;
  part.share(p.N, COLUMNS, [&](std::size_t begin, std::size_t end) {
    for (std::size_t k = 0; k < p.K; k += DEPTH) {
      const std::size_t depth = std::min(DEPTH, p.K - k);
      for (std::size_t n = begin; n < end; n += TILE_COLUMNS) {
        std::size_t m = 0;
        for (; m + PRODUCT_ROWS <= p.M; m += PRODUCT_ROWS) {
          do_strip<PRODUCT_ROWS>(p, m, n, k, depth);
        }
        for (; m + 2 <= p.M; m += 2) do_strip<2>(p, m, n, k, depth);
        if (m < p.M) do_strip<1>(p, m, n, k, depth);
      }
    }
    for (std::size_t row = 0; row < p.M; ++row) {
      lanes(row * p.N + begin, row * p.N + end, finish);
    }
  });
}

// Shares out the blocks of y. finish(io, i) is called for its elements, four at a time,
// when their block is done and still in cache.
template <typename Finish>
void do_product(const Product& p, Part& part, Finish finish) {
  if (has_few_rows(p)) return do_few_rows(p, part, finish);
  const std::size_t column_blocks = (p.N + MATMUL_COLUMNS - 1) / MATMUL_COLUMNS;
  const std::size_t most_rows = block_rows(p, column_blocks, part.n_threads());
  const std::size_t row_blocks = (p.M + most_rows - 1) / most_rows;
  Packed packed(part.scratch());
  part.share(row_blocks * column_blocks, 1, [&](std::size_t block, std::size_t) {
    const std::size_t m = block % row_blocks * most_rows;
    const std::size_t n = block / row_blocks * MATMUL_COLUMNS;
    const std::size_t rows = std::min(most_rows, p.M - m);
    const std::size_t columns = std::min(MATMUL_COLUMNS, p.N - n);
    do_block(p, m, rows, n, columns, packed);
    if (p.beside != nullptr) touch(p.beside + m * p.N + n, p.N, rows, columns);
    for (std::size_t row = m; row < m + rows; ++row) {
      lanes(row * p.N + n, row * p.N + n + columns, finish);
    }
  });
}

inline void do_product(const Product& p, Part& part) {
  do_product(p, part, [](auto, std::size_t) {});
}

}  // namespace tabgrad
