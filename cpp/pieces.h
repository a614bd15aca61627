// How heads of attention are shared out: whole, and in pieces where threads are left over.
//
// Query t has the keys 0 to t, so that scores are a triangle: late queries and early keys
// have most of them. A piece is some queries and some keys, each with as many scores as
// those of the other pieces.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "room.h"
#include "team.h"

namespace tabgrad {

inline constexpr std::size_t STEPS = 8;  // of a window are never parted

// Steps of a window from `begin` to `end`, multiples of 8 that may lie past T.
struct Span {
  std::size_t begin;
  std::size_t end;

  bool holds(std::size_t t) const { return begin <= t && t < end; }
  Span before(std::size_t t) const { return {std::min(begin, t), std::min(end, t)}; }
};

// What a thread computes of a head: the outputs of some queries and of some keys.
struct Piece {
  Span queries;
  Span keys;
};

// The step where the first `part` of `n_parts` of the scores of T_padded queries end.
inline std::size_t border(std::size_t part, std::size_t n_parts, std::size_t T_padded) {
  const float share = static_cast<float>(part) / static_cast<float>(n_parts);
  const float step = static_cast<float>(T_padded) * std::sqrt(share);
  return padded(static_cast<std::size_t>(step), STEPS);
}

// Early queries go with early keys: many scores of the one are of the other, too.
inline Piece piece_of(std::size_t part, std::size_t n_parts, std::size_t T_padded) {
  const auto end_of = [&](std::size_t i) { return border(i, n_parts, T_padded); };
  return {.queries = {end_of(part), end_of(part + 1)},
          .keys = {T_padded - end_of(n_parts - part), T_padded - end_of(n_parts - part - 1)}};
}

// Calls body(head, piece) for each of n heads: whole ones as long as every thread gets as
// many, then those left, in as many pieces as threads can have one each.
template <typename Body>
void share_heads(Part& part, std::size_t n, std::size_t T_padded, Body body) {
  const std::size_t team = part.n_threads();
  const std::size_t n_left = n % team;
  const std::size_t n_parts = n_left == 0 ? 1 : std::min(team / n_left, T_padded / STEPS);
  const std::size_t n_whole = n_parts > 1 ? n - n_left : n;
  struct Some {
    std::size_t first, n, n_parts;
  };
  // one place calls the body, so that it is compiled into the loop
  for (const Some& heads : {Some{0, n_whole, 1}, Some{n_whole, n - n_whole, n_parts}}) {
    part.share(heads.n * heads.n_parts, 1, [&](std::size_t i, std::size_t) {
      body(heads.first + i / heads.n_parts, piece_of(i % heads.n_parts, heads.n_parts, T_padded));
    });
  }
}

}  // namespace tabgrad
