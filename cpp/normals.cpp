// Philox 4x32-10 and Box-Muller, as docs/randomness.md defines them, four blocks at a time.
// Source: Salmon, Moraes, Dror, Shaw 2011, "Parallel random numbers: as easy as 1, 2, 3".

#include "normals.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "simd.h"
#include "special.h"
#include "team.h"

// Vectors of 256 bits are passed in this file alone: no other has to agree how.
#pragma clang diagnostic ignored "-Wpsabi"

namespace tabgrad {

namespace {

using U4 = std::uint32_t __attribute__((vector_size(16)));
using L2 = std::uint64_t __attribute__((vector_size(16)));
using L4 = std::uint64_t __attribute__((vector_size(32)));
using D4 = double __attribute__((vector_size(32)));

inline constexpr std::size_t GROUP = 16;       // normals of four blocks
inline constexpr double WORDS = 4294967296.0;  // 2^32
inline constexpr double PI = std::numbers::pi;

constexpr U4 splat_word(std::uint32_t value) { return U4{} + value; }
constexpr D4 splat_double(double value) { return D4{} + value; }

struct Numbers {
  U4 multiplier_0 = splat_word(0xD2511F53);
  U4 multiplier_1 = splat_word(0xCD9E8D57);
  L4 sqrt_half_bits = L4{} + 0x3FE6A09E667F3BCD;
  L4 exponent_bits = L4{} + 0x4330000000000000;         // of 2^52, whose last bit is 1
  D4 exponent = splat_double(4503599627370496.0 + 32);  // 2^52, and that of WORDS
  D4 one = splat_double(1);
  D4 two = splat_double(2);
  D4 minus_two = splat_double(-2);
  D4 ln2 = splat_double(std::numbers::ln2);
  // 2 atanh(s) = 2 s + s z P(z), z = s^2, |s| <= 0.1716: relative error 2^-44.9
  D4 log[5] = {splat_double(0x1.555555561e2d0p-1), splat_double(0x1.999996a98eab6p-2),
               splat_double(0x1.249411ce53c70p-2), splat_double(0x1.c62b20207cf09p-3),
               splat_double(0x1.9114db11c9681p-3)};
  D4 turn = splat_double(2 * PI / WORDS);
  // sin x = x + x z P(z), z = x^2, |x| <= pi / 4: error 2^-47.5
  D4 sin[5] = {splat_double(-0x1.5555555552e41p-3), splat_double(0x1.1111110cdbeb2p-7),
               splat_double(-0x1.a019f946a6b9dp-13), splat_double(0x1.71d752f9d24c9p-19),
               splat_double(-0x1.a9509373c9a5ep-26)};
  // cos x = 1 + z P(z): error 2^-43.9
  D4 cos[5] = {splat_double(-0x1.ffffffffebfeap-2), splat_double(0x1.55555546f5a97p-5),
               splat_double(-0x1.6c16b40149f86p-10), splat_double(0x1.a00f120de2d3bp-16),
               splat_double(-0x1.23d81acba0017p-22)};
  D4 error = splat_double(0x1p-42);
};

inline constexpr Numbers NUMBERS;

// Bits of a double, and back.
L4 bits_of(D4 v) { return reinterpret_cast<L4>(v); }
D4 double_of(L4 v) { return reinterpret_cast<D4>(v); }

F4 rounded(D4 v) { return __builtin_convertvector(v, F4); }

// z P(z) with P's coefficients from the constant on.
D4 polynomial(D4 z, const D4 (&p)[5]) {
  D4 sum = p[4];
  for (int i = 3; i >= 0; --i) sum = sum * z + p[i];
  return sum * z;
}

// Each word of four blocks.
using Blocks = std::array<U4, 4>;

// The key of each round, in every lane.
struct Keys {
  U4 k[10][2];

  explicit Keys(const std::uint32_t (&key)[2]) {
    for (std::uint32_t round = 0; round < 10; ++round) {
      k[round][0] = splat_word(key[0] + round * 0x9E3779B9);
      k[round][1] = splat_word(key[1] + round * 0xBB67AE85);
    }
  }
};

// High and low words of the products of words.
struct Product {
  U4 high;
  U4 low;

  Product(U4 a, U4 b) {
    const auto first = [](U4 v) {
      return __builtin_convertvector(__builtin_shufflevector(v, v, 0, 1), L2);
    };
    const auto last = [](U4 v) {
      return __builtin_convertvector(__builtin_shufflevector(v, v, 2, 3), L2);
    };
    const auto p = reinterpret_cast<U4>(first(a) * first(b));
    const auto q = reinterpret_cast<U4>(last(a) * last(b));
    high = __builtin_shufflevector(p, q, 1, 3, 5, 7);
    low = __builtin_shufflevector(p, q, 0, 2, 4, 6);
  }
};

Blocks philox(Blocks c, const Keys& keys) {
  const auto& n = from_memory(NUMBERS);
  // unrolled, clang sees that a product is of two words, for which there is an instruction
#pragma unroll
  for (std::size_t round = 0; round < 10; ++round) {
    const Product product_0(n.multiplier_0, c[0]);
    const Product product_1(n.multiplier_1, c[2]);
    c = {product_1.high ^ c[1] ^ keys.k[round][0], product_1.low,
         product_0.high ^ c[3] ^ keys.k[round][1], product_0.low};
  }
  return c;
}

// Two normals of two words, in double precision.
std::array<float, 2> box_muller(std::uint32_t u, std::uint32_t v) {
  const double r = std::sqrt(-2.0 * std::log((u + 1.0) / WORDS));
  const double angle = 2.0 * PI * v / WORDS;
  return {static_cast<float>(r * std::cos(angle)), static_cast<float>(r * std::sin(angle))};
}

// sqrt(-2 ln((u + 1) / 2^32)): relative error 2^-45.
//
// u + 1 = 2^k m with m from sqrt 1/2 to sqrt 2, so that near 2^32, where the logarithm is
// small, it is that of m alone.
D4 radius(U4 u) {
  const auto& n = from_memory(NUMBERS);
  const L4 bits = bits_of(__builtin_convertvector(u, D4) + n.one);
  const L4 k = (bits - n.sqrt_half_bits) >> 52;
  const D4 m = double_of(bits - (k << 52));
  const D4 k_minus_32 = double_of(k | n.exponent_bits) - n.exponent;
  const D4 s = (m - n.one) / (m + n.one);
  const D4 log = k_minus_32 * n.ln2 + (s * n.two + s * polynomial(s * s, n.log));
  return __builtin_elementwise_sqrt(log * n.minus_two);
}

struct Pairs {
  F4 cos;
  F4 sin;
  I4 is_open;  // whether box_muller may give other bits
};

// Four times two normals. What is computed is off by less than r 2^-42: where all that is
// as near rounds to the same float, that is box_muller's; where not, it is open.
Pairs box_muller4(U4 u, U4 v) {
  const auto& n = from_memory(NUMBERS);
  const D4 r = radius(u);
  // the angle is quarter turns and a rest from -1/8 to 1/8 of a turn, exactly
  const U4 quarter = (v + splat_word(1u << 29)) >> 30;
  const I4 rest = reinterpret_cast<I4>(v - (quarter << 30));
  const D4 x = __builtin_convertvector(rest, D4) * n.turn;
  const D4 z = x * x;
  const L4 r_sin = bits_of(r * (x + x * polynomial(z, n.sin)));
  const L4 r_cos = bits_of(r * (n.one + polynomial(z, n.cos)));
  const L4 q = __builtin_convertvector(quarter, L4);
  const L4 swaps = L4{} - (q & 1);
  const D4 cos = double_of(((r_cos & ~swaps) | (r_sin & swaps)) ^ ((q + 1) >> 1 << 63));
  const D4 sin = double_of(((r_sin & ~swaps) | (r_cos & swaps)) ^ (q >> 1 << 63));
  const D4 error = r * n.error;
  const F4 cos_low = rounded(cos - error);
  const F4 sin_low = rounded(sin - error);
  const I4 is_open = (cos_low != rounded(cos + error)) | (sin_low != rounded(sin + error));
  return {cos_low, sin_low, is_open};
}

// The same for words of four blocks, one number at a time.
[[gnu::noinline]] void fill_exactly(float* to, float std, const Blocks& words) {
  for (std::size_t i = 0; i < LANES; ++i) {
    for (std::size_t word = 0; word < 4; word += 2) {
      const auto [first, second] = box_muller(words[word][i], words[word + 1][i]);
      to[LANES * i + word] = std * first;
      to[LANES * i + word + 1] = std * second;
    }
  }
}

// std times the normals of blocks 4 group to 4 group + 3. One group in some 500 has a
// number that is open.
void fill_group(float* to, const Normals& a, const Keys& keys, std::uint64_t group) {
  const std::uint64_t block = 4 * group;
  const U4 low = splat_word(static_cast<std::uint32_t>(block)) + U4{0, 1, 2, 3};
  const U4 high = splat_word(static_cast<std::uint32_t>(block >> 32));
  const Blocks words = philox({low, high, splat_word(a.sub_stream), splat_word(a.stream)}, keys);
  const Pairs first = box_muller4(words[0], words[1]);
  const Pairs second = box_muller4(words[2], words[3]);
  if (__builtin_reduce_or(first.is_open | second.is_open) != 0) {
    fill_exactly(to, a.std, words);
    return;
  }
  F4 rows[4] = {first.cos, first.sin, second.cos, second.sin};
  transpose4(rows[0], rows[1], rows[2], rows[3]);
  for (std::size_t i = 0; i < 4; ++i) store4(to + i * LANES, splat(a.std) * rows[i]);
}

}  // namespace

void fill_normals(const Normals& a, Part& part) {
  const Keys keys(a.key);
  part.share((a.n + GROUP - 1) / GROUP, 512, [&](std::size_t begin, std::size_t end) {
    for (std::size_t group = begin; group < end; ++group) {
      float* to = a.to + group * GROUP;
      const std::size_t n = std::min(GROUP, a.n - group * GROUP);
      if (n == GROUP) {
        fill_group(to, a, keys, group);
      } else {
        float normals[GROUP];
        fill_group(normals, a, keys, group);
        std::copy_n(normals, n, to);
      }
    }
  });
}

}  // namespace tabgrad
