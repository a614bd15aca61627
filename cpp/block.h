// One block of a matrix product, by each of the tiles that it can be made of.
//
// M, N rows and columns of y, K the axis summed over. The tiles are those of the contract;
// which of them is in use changes no bit of y.
#pragma once

#include <algorithm>
#include <array>
#include <utility>

#include "contract.h"
#include "panels.h"
#include "simd.h"
#include "tile.h"

namespace tabgrad {

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

// Both operands as panels.
struct Packed {
  Panels x;
  Panels w;
};

// Rows of y from m, columns from n.
struct Block {
  std::size_t m;
  std::size_t rows;
  std::size_t n;
  std::size_t columns;
};

// Adds the product of two panels to the tile of y at (m, n); the first one of a tile
// starts from the bias, the old y or zero instead.
template <std::size_t ROWS, std::size_t COLUMNS>
inline void update_tile(const Product& p, std::size_t m, std::size_t n, std::size_t depth,
                        const float* x_panel, const float* w_panel, bool is_first) {
  const std::size_t rows = std::min(ROWS, p.M - m);
  const std::size_t columns = std::min(COLUMNS, p.N - n);
  const bool is_whole = rows == ROWS && columns == COLUMNS;
  const bool starts_from_y = p.adds || !is_first;
  float* y = p.y + m * p.N + n;
  float edge[ROWS * COLUMNS] = {};
  Tile<ROWS, COLUMNS> tile;
  if (starts_from_y && is_whole) {
    tile.load(y, p.N);
  } else if (starts_from_y) {
    for (std::size_t i = 0; i < rows; ++i) {
      std::copy_n(y + i * p.N, columns, edge + i * COLUMNS);
    }
    tile.load(edge, COLUMNS);
  } else if (p.b != nullptr) {
    std::copy_n(p.b + n, columns, edge);
    tile.load(edge, 0);
  }
  tile.add_product(depth, x_panel, 1, ROWS, w_panel, COLUMNS);
  if (is_whole) {
    tile.store(y, p.N);
    return;
  }
  tile.store(edge, COLUMNS);
  for (std::size_t i = 0; i < rows; ++i) {
    std::copy_n(edge + i * COLUMNS, columns, y + i * p.N);
  }
}

// p.sums of a few panels' columns, from column n on, += sums over the depth of a slice.
template <std::size_t COLUMNS, std::size_t PANELS>
void sum_panels(const Product& p, const float* panels, std::size_t n, std::size_t depth,
                bool starts_from_sums) {
  constexpr std::size_t VECTORS = COLUMNS / LANES;
  F4 sums[VECTORS * PANELS] = {};
  for (std::size_t k = 0; k < depth; ++k) {
    for (std::size_t i = 0; i < VECTORS * PANELS; ++i) {
      sums[i] += load4(panels + i / VECTORS * COLUMNS * depth + k * COLUMNS + i % VECTORS * LANES);
    }
  }
  float found[PANELS * COLUMNS];
  for (std::size_t i = 0; i < VECTORS * PANELS; ++i) store4(found + i * LANES, sums[i]);
  lanes(n, std::min(p.N, n + PANELS * COLUMNS), [&](auto io, std::size_t i) {
    const F4 sum = io.load(found + (i - n));
    io.store(p.sums + i, starts_from_sums ? io.load(p.sums + i) + sum : sum);
  });
}

// p.sums of the columns of a block: several panels at once, as a sum waits for the last.
template <std::size_t COLUMNS>
void sum_columns(const Product& p, const float* panels, const Block& block, std::size_t k,
                 std::size_t depth) {
  const bool starts_from_sums = p.adds_sums || k != 0;
  constexpr std::size_t PANELS = 32 / COLUMNS;  // 8 sums
  std::size_t j = 0;
  for (; j + PANELS * COLUMNS <= block.columns; j += PANELS * COLUMNS) {
    sum_panels<COLUMNS, PANELS>(p, panels + j * depth, block.n + j, depth, starts_from_sums);
  }
  for (; j < block.columns; j += COLUMNS) {
    sum_panels<COLUMNS, 1>(p, panels + j * depth, block.n + j, depth, starts_from_sums);
  }
}

// One block of y. Packs its rows of x into `own_x`, a slice at a time, unless that is null
// and all of x is packed.
template <std::size_t ROWS, std::size_t COLUMNS>
void do_block(const Product& p, const Packed& packed, float* own_x, const Block& block) {
  const auto [m, rows, n, columns] = block;
  for (std::size_t k = 0; k < p.K; k += SLICE) {
    const std::size_t depth = std::min(SLICE, p.K - k);
    const float* x = own_x != nullptr ? own_x : packed.x.at(m, k, depth);
    const float* w = packed.w.at(n, k, depth);
    if (own_x != nullptr) pack<ROWS>(own_x, p.x.at(m, k), rows, depth);
    if (p.sums != nullptr && m == 0) sum_columns<COLUMNS>(p, w, block, k, depth);
    for (std::size_t j = 0; j < columns; j += COLUMNS) {
      for (std::size_t i = 0; i < rows; i += ROWS) {
        update_tile<ROWS, COLUMNS>(p, m + i, n + j, depth, x + i * depth, w + j * depth, k == 0);
      }
    }
  }
}

// A tile by its size and what is compiled for it.
struct TileKernels {
  std::size_t rows;
  std::size_t columns;
  void (*pack_x)(float* panels, const Operand& from, std::size_t n, std::size_t depth);
  void (*pack_w)(float* panels, const Operand& from, std::size_t n, std::size_t depth);
  void (*do_block)(const Product& p, const Packed& packed, float* own_x, const Block& block);
};

template <std::size_t... I>
constexpr auto kernels_of_tiles(std::index_sequence<I...>) {
  return std::array{TileKernels{TILES[I].rows, TILES[I].columns, pack<TILES[I].rows>,
                                pack<TILES[I].columns>,
                                do_block<TILES[I].rows, TILES[I].columns>}...};
}

// In the order of TILES.
inline constexpr auto TILE_KERNELS = kernels_of_tiles(std::make_index_sequence<std::size(TILES)>());

// The tile of a build whose tiles nobody has timed. With 12 sums under way no FMA waits for
// the one before; a product apart from its sum needs registers that 12 sums leave no room
// for. The native build of the tests follows the builds with FMA.
#if defined(__wasm__) && !defined(__wasm_relaxed_simd__)
inline constexpr std::size_t DEFAULT_TILE = 0;
#else
inline constexpr std::size_t DEFAULT_TILE = 1;
#endif

// The number of the tile that products use; changed between ops only, by who leads.
inline std::size_t tile_in_use = DEFAULT_TILE;

}  // namespace tabgrad
