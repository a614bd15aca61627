// Room: what a plan may touch, and how a word of a plan becomes a pointer.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tabgrad {

struct Room {
  std::uint64_t arena;    // bytes
  std::uint64_t shared;   // bytes of scratch for all threads, at the arena's end
  std::uint64_t scratch;  // bytes for each thread

  // Whether `elements` of 4 bytes from byte `offset` on lie inside the arena.
  bool holds(std::uint64_t offset, std::uint64_t elements) const {
    return offset % 4 == 0 && offset <= arena && elements <= (arena - offset) / 4;
  }
};

template <typename Pointer>
Pointer at(std::byte* arena, std::uint64_t offset) {
  return reinterpret_cast<Pointer>(arena + static_cast<std::size_t>(offset));
}

// `size` rounded up to a multiple of `to`.
template <typename Size>
constexpr Size padded(Size size, Size to = 8) {
  return (size + to - 1) / to * to;
}

}  // namespace tabgrad
