// Room: what a plan may touch, and how a word of a plan becomes a pointer.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tabgrad {

struct Room {
  std::uint64_t arena;    // bytes
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

// `size` rounded up to whole tiles of 8.
template <typename Size>
constexpr Size padded(Size size) {
  return (size + 7) / 8 * 8;
}

}  // namespace tabgrad
