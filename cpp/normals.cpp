// Philox 4x32-10 and Box-Muller, as docs/randomness.md defines them.
// Source: Salmon, Moraes, Dror, Shaw 2011, "Parallel random numbers: as easy as 1, 2, 3".

#include "normals.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "team.h"

namespace tabgrad {

namespace {

using Block = std::array<std::uint32_t, 4>;

Block philox(Block c, std::uint32_t key_0, std::uint32_t key_1) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product_0 = std::uint64_t{0xD2511F53} * c[0];
    const std::uint64_t product_1 = std::uint64_t{0xCD9E8D57} * c[2];
    c = {static_cast<std::uint32_t>(product_1 >> 32) ^ c[1] ^ key_0,
         static_cast<std::uint32_t>(product_1),
         static_cast<std::uint32_t>(product_0 >> 32) ^ c[3] ^ key_1,
         static_cast<std::uint32_t>(product_0)};
    key_0 += 0x9E3779B9;
    key_1 += 0xBB67AE85;
  }
  return c;
}

// Two normals of two words, in double precision.
std::array<float, 2> box_muller(std::uint32_t u, std::uint32_t v) {
  constexpr double WORDS = 4294967296.0;  // 2^32
  const double r = std::sqrt(-2.0 * std::log((u + 1.0) / WORDS));
  const double angle = 2.0 * std::numbers::pi * v / WORDS;
  return {static_cast<float>(r * std::cos(angle)), static_cast<float>(r * std::sin(angle))};
}

}  // namespace

void fill_normals(const Normals& a, Part& part) {
  const std::size_t n_blocks = (a.n + 3) / 4;
  part.share(n_blocks, 2048, [&](std::size_t begin, std::size_t end) {
    for (std::size_t block = begin; block < end; ++block) {
      const std::uint64_t number = block;
      const Block words = philox({static_cast<std::uint32_t>(number),
                                  static_cast<std::uint32_t>(number >> 32), a.sub_stream, a.stream},
                                 a.key[0], a.key[1]);
      const auto first = box_muller(words[0], words[1]);
      const auto second = box_muller(words[2], words[3]);
      const float normals[] = {first[0], first[1], second[0], second[1]};
      for (std::size_t i = 0; i < std::min<std::size_t>(4, a.n - 4 * block); ++i) {
        a.to[4 * block + i] = a.std * normals[i];
      }
    }
  });
}

}  // namespace tabgrad
