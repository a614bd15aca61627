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

#include "block.h"
#include "room.h"
#include "simd.h"
#include "team.h"
#include "tile.h"

namespace tabgrad {

constexpr std::size_t parts_of(std::size_t n, std::size_t part) { return (n + part - 1) / part; }

// Where both operands lie packed for a tile, in memory that all threads share.
inline Packed packed_in(float* shared, const Product& p, const TileKernels& tile) {
  const Panels x{shared, padded(p.M, tile.rows)};
  return {x, {shared + x.n * p.K, padded(p.N, tile.columns)}};
}

// Shares out the packing of w, and of x where it is wanted, and waits until all is done.
inline void pack_operands(const Product& p, const TileKernels& tile, const Packed& packed,
                          bool with_x, Part& part) {
  const auto pack_all = [&](const Panels& panels, const Operand& from, std::size_t vectors,
                            std::size_t width, auto pack) {
    const std::size_t many = SIDE_BY_SIDE * width;
    const std::size_t slices = parts_of(p.K, SLICE);
    part.share(parts_of(vectors, many) * slices, 1, [&](std::size_t piece, std::size_t) {
      const std::size_t i = piece / slices * many;
      const std::size_t k = piece % slices * SLICE;
      const std::size_t depth = std::min(SLICE, p.K - k);
      pack(panels.at(i, k, depth), from.at(i, k), std::min(many, vectors - i), depth);
    });
  };
  if (with_x) pack_all(packed.x, p.x, p.M, tile.rows, tile.pack_x);
  pack_all(packed.w, p.w, p.N, tile.columns, tile.pack_w);
  part.finish();
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

// Cuts y into a region for each thread, as square as their number allows, so that a thread
// reads few panels, and regions into blocks, of which others can take some: the more
// threads, the more the last one to finish costs. What an element is the sum of, and in
// which order, does not depend on it.
class Blocks {
 public:
  Blocks(const Product& p, const TileKernels& tile, std::size_t n_threads)
      : M_(p.M), N_(p.N), tile_(tile), regions_down_(n_threads) {
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
    down_ = parts_of(rows, MOST / tile_.rows);
    across_ = parts_of(columns, MOST / tile_.columns);
    if (n_threads == 1) return;
    const std::size_t enough = n_threads > 4 ? 16 : 6;
    const std::size_t least_columns = parts_of(LEAST_COLUMNS, tile_.columns);
    while (down_ * across_ < enough && rows > down_ * LEAST_ROWS) down_ *= 2;
    while (down_ * across_ < enough && columns > across_ * least_columns) across_ *= 2;
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
    const std::size_t m = rows.begin * tile_.rows;
    const std::size_t n = columns.begin * tile_.columns;
    return {m, std::min(M_, rows.end * tile_.rows) - m, n,
            std::min(N_, columns.end * tile_.columns) - n};
  }

 private:
  static constexpr std::size_t MOST = 96;       // rows and columns of a block
  static constexpr std::size_t LEAST_ROWS = 2;  // tiles
  static constexpr std::size_t LEAST_COLUMNS = 24;

  std::size_t row_tiles() const { return parts_of(M_, tile_.rows); }
  std::size_t column_tiles() const { return parts_of(N_, tile_.columns); }

  std::size_t M_;
  std::size_t N_;
  const TileKernels& tile_;
  std::size_t regions_down_;
  std::size_t regions_across_ = 1;
  std::size_t down_;  // blocks of a region
  std::size_t across_;
};

// The tile of products of few rows, whose last rows take smaller ones.
inline constexpr TileShape STRIP = TILES[DEFAULT_TILE];

// Whether y has so few rows that packing w takes longer than what it saves, and w is
// (K, N) of whole strips.
inline bool has_few_rows(const Product& p) {
  constexpr std::size_t FEW = 8;
  return p.M <= FEW && p.w.step == 1 && p.N % STRIP.columns == 0 && p.sums == nullptr;
}

// The same where the numbers of a sum lie side by side, in x and in w.
inline bool is_few_dots(const Product& p) {
  constexpr std::size_t FEW = 16;
  const bool is_plain = p.b == nullptr && p.sums == nullptr;
  return p.M <= FEW && p.w.k_step == 1 && p.x.k_step == 1 && is_plain;
}

// ROWS by COLUMNS elements of y, from (m, n) on: lanes go along K and are added at the end.
template <std::size_t ROWS, std::size_t COLUMNS>
void do_dots(const Product& p, std::size_t m, std::size_t n) {
  const Operand x = p.x.at(m, 0);
  const Operand w = p.w.at(n, 0);
  F4 sums[ROWS][COLUMNS] = {};
  lanes(0, p.K, [&](auto io, std::size_t k) {
    F4 x_i[ROWS];
    for (std::size_t i = 0; i < ROWS; ++i) x_i[i] = io.load(x.p + i * x.step + k);
    for (std::size_t j = 0; j < COLUMNS; ++j) {
      const F4 w_j = io.load(w.p + j * w.step + k);
      for (std::size_t i = 0; i < ROWS; ++i) sums[i][j] = madd(x_i[i], w_j, sums[i][j]);
    }
  });
  for (std::size_t i = 0; i < ROWS; ++i) {
    for (std::size_t j = 0; j < COLUMNS; ++j) {
      float& y = p.y[(m + i) * p.N + n + j];
      y = (p.adds ? y : 0.0f) + sum_of(sums[i][j]);
    }
  }
}

// Columns of y from `begin` to `end`; not part of its callers, of which there are many.
[[gnu::noinline]] inline void do_columns_of_dots(const Product& p, std::size_t begin,
                                                 std::size_t end) {
  std::size_t m = 0;
  for (; m + 2 <= p.M; m += 2) {
    std::size_t n = begin;
    for (; n + 4 <= end; n += 4) do_dots<2, 4>(p, m, n);
    for (; n < end; ++n) do_dots<2, 1>(p, m, n);
  }
  if (m == p.M) return;
  std::size_t n = begin;
  for (; n + 4 <= end; n += 4) do_dots<1, 4>(p, m, n);
  for (; n < end; ++n) do_dots<1, 1>(p, m, n);
}

// Each thread takes columns of y and reads its part of w where it lies.
template <typename Finish>
void do_few_dots(const Product& p, Part& part, Finish finish) {
  constexpr std::size_t COLUMNS = 16;  // a line of y
  part.share(p.N, COLUMNS, [&](std::size_t begin, std::size_t end) {
    do_columns_of_dots(p, begin, end);
    for (std::size_t row = 0; row < p.M; ++row) {
      lanes(row * p.N + begin, row * p.N + end, finish);
    }
  });
}

// Adds depth products from k on to rows from m on of a strip of y from column n on.
template <std::size_t ROWS>
void do_strip(const Product& p, std::size_t m, std::size_t n, std::size_t k, std::size_t depth) {
  Tile<ROWS, STRIP.columns> tile;
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
      for (std::size_t n = begin; n < end; n += STRIP.columns) {
        std::size_t m = 0;
        for (; m + STRIP.rows <= p.M; m += STRIP.rows) do_strip<STRIP.rows>(p, m, n, k, depth);
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
  if (is_few_dots(p)) return do_few_dots(p, part, finish);
  const TileKernels& tile = TILE_KERNELS[tile_in_use];
  const Packed packed = packed_in(part.shared(), p, tile);
  const Blocks blocks(p, tile, part.n_threads());
  // A row of x that only one block reads is packed by that block, so that it stays in cache:
  // a thread packs them all into the place of one of its own.
  const bool packs_own = blocks.has_one_column();
  float* own_x = nullptr;
  std::size_t own_rows = 0;
  pack_operands(p, tile, packed, !packs_own, part);
  part.share(blocks.count(), 1, [&](std::size_t number, std::size_t) {
    const Block block = blocks.at(number);
    const auto [m, rows, n, columns] = block;
    if (rows == 0 || columns == 0) return;
    if (packs_own && rows > own_rows) {
      own_x = packed.x.at(m, 0, std::min(SLICE, p.K));
      own_rows = rows;
    }
    tile.do_block(p, packed, own_x, block);
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
