// How a matrix product is done: both operands packed by all threads, then y cut into blocks
// for the threads and blocks into tiles.
//
// M, N rows and columns of y, K the axis summed over. n is a plain operand and t a
// transposed one. x and w are packed once, into memory that all threads see, as panels in
// the order in which a tile reads them, filled with zeros at the edges, so that every tile
// is whole.
// Source: Goto and van de Geijn 2008, "Anatomy of high-performance matrix multiplication".
#pragma once

#include <algorithm>

#include "room.h"
#include "simd.h"
#include "team.h"
#include "tile.h"

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

constexpr std::size_t parts_of(std::size_t n, std::size_t part) { return (n + part - 1) / part; }

// Where the panels of one operand lie: slices of K, one after the other, each with its depth
// of all panels.
template <std::size_t W>
struct Panels {
  float* p;
  std::size_t n;  // vectors, filled up to whole panels

  Panels(float* memory, std::size_t vectors) : p(memory), n(padded<W>(vectors)) {}

  // Where vector i of the slice from k on begins; the slice is `depth` deep.
  float* at(std::size_t i, std::size_t k, std::size_t depth) const { return p + k * n + i * depth; }
};

struct Packed {
  Panels<PRODUCT_ROWS> x;
  Panels<TILE_COLUMNS> w;

  Packed(const Product& p, float* shared) : x(shared, p.M), w(shared + x.n * p.K, p.N) {}
};

// Shares out the packing of w, and of x where it is wanted, and waits until all is done.
inline void pack_operands(const Product& p, const Packed& packed, bool with_x, Part& part) {
  const auto pack_all = [&]<std::size_t W>(const Panels<W>& panels, const Operand& from,
                                           std::size_t vectors) {
    constexpr std::size_t MANY = SIDE_BY_SIDE * W;
    const std::size_t slices = parts_of(p.K, SLICE);
    part.share(parts_of(vectors, MANY) * slices, 1, [&](std::size_t piece, std::size_t) {
      const std::size_t i = piece / slices * MANY;
      const std::size_t k = piece % slices * SLICE;
      const std::size_t depth = std::min(SLICE, p.K - k);
      pack<W>(panels.at(i, k, depth), from.at(i, k), std::min(MANY, vectors - i), depth);
    });
  };
  if (with_x) pack_all(packed.x, p.x, p.M);
  pack_all(packed.w, p.w, p.N);
  part.finish();
}

// p.sums of a few panels' columns, from column n on, += sums over the depth of a slice.
template <std::size_t PANELS>
void sum_panels(const Product& p, const float* panels, std::size_t n, std::size_t depth,
                bool starts_from_sums) {
  F4 sums[2 * PANELS] = {};
  for (std::size_t k = 0; k < depth; ++k) {
    for (std::size_t i = 0; i < 2 * PANELS; ++i) {
      sums[i] += load4(panels + i / 2 * TILE_COLUMNS * depth + k * TILE_COLUMNS + i % 2 * LANES);
    }
  }
  float found[PANELS * TILE_COLUMNS];
  for (std::size_t i = 0; i < 2 * PANELS; ++i) store4(found + i * LANES, sums[i]);
  lanes(n, std::min(p.N, n + PANELS * TILE_COLUMNS), [&](auto io, std::size_t i) {
    const F4 sum = io.load(found + (i - n));
    io.store(p.sums + i, starts_from_sums ? io.load(p.sums + i) + sum : sum);
  });
}

// p.sums of the columns of a block: several panels at once, as a sum waits for the last.
inline void sum_columns(const Product& p, const float* panels, std::size_t n, std::size_t columns,
                        std::size_t k, std::size_t depth) {
  const bool starts_from_sums = p.adds_sums || k != 0;
  constexpr std::size_t MANY = SIDE_BY_SIDE * TILE_COLUMNS;
  std::size_t j = 0;
  for (; j + MANY <= columns; j += MANY) {
    sum_panels<SIDE_BY_SIDE>(p, panels + j * depth, n + j, depth, starts_from_sums);
  }
  for (; j < columns; j += TILE_COLUMNS) {
    sum_panels<1>(p, panels + j * depth, n + j, depth, starts_from_sums);
  }
}

// One block of y: rows from m, columns from n. Packs its rows of x into `own_x`, a slice at a
// time, unless that is null and all of x is packed.
inline void do_block(const Product& p, const Packed& packed, float* own_x, std::size_t m,
                     std::size_t rows, std::size_t n, std::size_t columns) {
  for (std::size_t k = 0; k < p.K; k += SLICE) {
    const std::size_t depth = std::min(SLICE, p.K - k);
    const float* x = own_x != nullptr ? own_x : packed.x.at(m, k, depth);
    const float* w = packed.w.at(n, k, depth);
    if (own_x != nullptr) pack<PRODUCT_ROWS>(own_x, p.x.at(m, k), rows, depth);
    if (p.sums != nullptr && m == 0) sum_columns(p, w, n, columns, k, depth);
    for (std::size_t j = 0; j < columns; j += TILE_COLUMNS) {
      for (std::size_t i = 0; i < rows; i += PRODUCT_ROWS) {
        update_tile(p, m + i, n + j, depth, x + i * depth, w + j * depth, k == 0);
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

struct Range {
  std::size_t begin;
  std::size_t end;

  // One of `parts` of nearly the same size; some are empty where there are more than units.
  Range part(std::size_t i, std::size_t parts) const {
    const std::size_t n = end - begin;
    return {begin + n * i / parts, begin + n * (i + 1) / parts};
  }
};

// Rows of y from m, columns from n.
struct Block {
  std::size_t m;
  std::size_t rows;
  std::size_t n;
  std::size_t columns;
};

// Cuts y into a region for each thread, as square as their number allows, so that a thread
// reads few panels, and regions into blocks, of which others can take some: the more
// threads, the more the last one to finish costs. What an element is the sum of, and in
// which order, does not depend on it.
class Blocks {
 public:
  Blocks(const Product& p, std::size_t n_threads) : M_(p.M), N_(p.N), regions_down_(n_threads) {
    for (std::size_t down = n_threads; down > 0; --down) {
      const std::size_t across = n_threads / down;
      const bool is_cheaper = across * M_ + down * N_ < regions_across_ * M_ + regions_down_ * N_;
      if (down * across == n_threads && is_cheaper) {
        regions_down_ = down;
        regions_across_ = across;
      }
    }
    const std::size_t rows = parts_of(row_tiles(), regions_down_);
    const std::size_t columns = parts_of(column_tiles(), regions_across_);
    down_ = parts_of(rows, MOST_ROWS);
    across_ = parts_of(columns, MOST_COLUMNS);
    if (n_threads == 1) return;
    const std::size_t enough = n_threads > 4 ? 16 : 6;
    while (down_ * across_ < enough && rows > down_ * LEAST_ROWS) down_ *= 2;
    while (down_ * across_ < enough && columns > across_ * LEAST_COLUMNS) across_ *= 2;
  }

  std::size_t count() const { return regions_down_ * regions_across_ * down_ * across_; }

  bool has_one_column() const { return regions_across_ * across_ == 1; }

  // The blocks of a region come one after the other, down its rows; some may be empty.
  Block at(std::size_t i) const {
    const std::size_t region = i / (down_ * across_);
    const Range rows =
        Range{0, row_tiles()}.part(region / regions_across_, regions_down_).part(i % down_, down_);
    const Range columns = Range{0, column_tiles()}
                              .part(region % regions_across_, regions_across_)
                              .part(i / down_ % across_, across_);
    const std::size_t m = rows.begin * PRODUCT_ROWS;
    const std::size_t n = columns.begin * TILE_COLUMNS;
    return {m, std::min(M_, rows.end * PRODUCT_ROWS) - m, n,
            std::min(N_, columns.end * TILE_COLUMNS) - n};
  }

 private:
  static constexpr std::size_t MOST_ROWS = 96 / PRODUCT_ROWS;  // tiles of a block, as below
  static constexpr std::size_t MOST_COLUMNS = 96 / TILE_COLUMNS;
  static constexpr std::size_t LEAST_ROWS = 2;
  static constexpr std::size_t LEAST_COLUMNS = 3;

  std::size_t row_tiles() const { return parts_of(M_, PRODUCT_ROWS); }
  std::size_t column_tiles() const { return parts_of(N_, TILE_COLUMNS); }

  std::size_t M_;
  std::size_t N_;
  std::size_t regions_down_;
  std::size_t regions_across_ = 1;
  std::size_t down_;  // blocks of a region
  std::size_t across_;
};

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
  const Packed packed(p, part.shared());
  const Blocks blocks(p, part.n_threads());
  // A row of x that only one block reads is packed by that block, so that it stays in cache:
  // a thread packs them all into the place of one of its own.
  const bool packs_own = blocks.has_one_column();
  float* own_x = nullptr;
  std::size_t own_rows = 0;
  pack_operands(p, packed, !packs_own, part);
  part.share(blocks.count(), 1, [&](std::size_t number, std::size_t) {
    const auto [m, rows, n, columns] = blocks.at(number);
    if (rows == 0 || columns == 0) return;
    if (packs_own && rows > own_rows) {
      own_x = packed.x.at(m, 0, std::min(SLICE, p.K));
      own_rows = rows;
    }
    do_block(p, packed, own_x, m, rows, n, columns);
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
