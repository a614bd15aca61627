// Four floats at a time, by the vector extensions of clang: 128-bit SIMD on WebAssembly,
// SSE or NEON natively. Nothing is reordered. Where the build has relaxed SIMD, madd is
// what the machine does fastest, on most of them with one rounding; elsewhere a product
// and a sum, with the same results on every machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tabgrad {

using F4 = float __attribute__((vector_size(16)));
using I4 = std::int32_t __attribute__((vector_size(16)));

inline constexpr std::size_t LANES = 4;

constexpr F4 splat(float value) { return F4{value, value, value, value}; }

inline F4 load4(const float* p) {
  F4 v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

inline void store4(float* p, F4 v) { std::memcpy(p, &v, sizeof v); }

// a b + c
inline F4 madd(F4 a, F4 b, F4 c) {
#if defined(__wasm_relaxed_simd__)
  return __builtin_wasm_relaxed_madd_f32x4(a, b, c);
#else
  return a * b + c;
#endif
}

inline F4 select(I4 mask, F4 yes, F4 no) { return mask ? yes : no; }

// A NaN in `a` wins, so that it is not hidden.
inline F4 at_least(F4 a, F4 low) { return select(a < low, low, a); }
inline F4 at_most(F4 a, F4 high) { return select(a > high, high, a); }

inline F4 sqrt4(F4 v) { return __builtin_elementwise_sqrt(v); }

inline float sum_of(F4 v) { return (v[0] + v[2]) + (v[1] + v[3]); }

inline float max_of(F4 v) {
  const float a = v[0] > v[1] ? v[0] : v[1];
  const float b = v[2] > v[3] ? v[2] : v[3];
  return a > b ? a : b;
}

// Rows of a 4 x 4 block become its columns.
inline void transpose4(F4& a, F4& b, F4& c, F4& d) {
  const F4 ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5);
  const F4 ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
  const F4 cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5);
  const F4 cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
  a = __builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5);
  b = __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7);
  c = __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5);
  d = __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7);
}

// How `lanes` loads and stores: all four elements, or the few left at the end.
struct FullLanes {
  F4 load(const float* p, float = 0) const { return load4(p); }
  void store(float* p, F4 v) const { store4(p, v); }
};

struct SomeLanes {
  std::size_t n;
  F4 load(const float* p, float fill = 0) const {
    F4 v = splat(fill);
    std::memcpy(&v, p, n * sizeof(float));
    return v;
  }
  void store(float* p, F4 v) const { std::memcpy(p, &v, n * sizeof(float)); }
};

// Calls body(io, i) for each four elements from `begin` to `end`; io is one of the above.
template <typename Body>
inline void lanes(std::size_t begin, std::size_t end, Body body) {
  std::size_t i = begin;
  for (; i + LANES <= end; i += LANES) body(FullLanes{}, i);
  if (i < end) body(SomeLanes{end - i}, i);
}

inline constexpr std::size_t CHAINS = 4;

// The same for sums: body(io, i, sums[chain]) adds to the chains in turn, so that an add
// does not wait for the last; what is left at the end goes to the first. Returns their sum.
// Sums is F4 or some that are added together.
template <typename Sums, typename Body>
inline Sums sum_lanes(std::size_t begin, std::size_t end, Body body) {
  Sums sums[CHAINS] = {};
  std::size_t i = begin;
  for (; i + CHAINS * LANES <= end; i += CHAINS * LANES) {
    for (std::size_t chain = 0; chain < CHAINS; ++chain) {
      body(FullLanes{}, i + chain * LANES, sums[chain]);
    }
  }
  lanes(i, end, [&](auto io, std::size_t at) { body(io, at, sums[0]); });
  return (sums[0] + sums[2]) + (sums[1] + sums[3]);
}

}  // namespace tabgrad
