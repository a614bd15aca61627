#include "memory.h"

#include <algorithm>
#include <cstdint>

#if defined(__wasm__)
#include <unistd.h>
#else
#include <cstdlib>
#include <cstring>
#include <vector>
#endif

namespace tabgrad {

namespace {

inline constexpr std::size_t ALIGN = 256;

}  // namespace

#if defined(__wasm__)

// Straight from sbrk, whose fresh memory is zeros: clearing gigabytes takes seconds.
// sbrk takes a signed number, so that 32-bit memory wants several calls.
std::byte* take_block(std::size_t n_bytes) {
  constexpr std::size_t MOST = std::size_t{1} << 30;
  const std::size_t now = reinterpret_cast<std::size_t>(sbrk(0));
  const std::size_t first = (now + ALIGN - 1) / ALIGN * ALIGN;
  std::size_t left = first - now + n_bytes;
  if (left < n_bytes) return nullptr;
  while (left != 0) {
    const std::size_t taken = std::min(left, MOST);
    if (sbrk(static_cast<std::intptr_t>(taken)) == reinterpret_cast<void*>(-1)) {
      return nullptr;
    }
    left -= taken;
  }
  return reinterpret_cast<std::byte*>(first);
}

void give_back_blocks() {}

#else

namespace {

std::vector<void*>& blocks() {
  static std::vector<void*> all;
  return all;
}

}  // namespace

std::byte* take_block(std::size_t n_bytes) {
  void* block = nullptr;
  if (posix_memalign(&block, ALIGN, std::max(n_bytes, ALIGN)) != 0) return nullptr;
  std::memset(block, 0, n_bytes);
  blocks().push_back(block);
  return static_cast<std::byte*>(block);
}

void give_back_blocks() {
  for (void* block : blocks()) std::free(block);
  blocks().clear();
}

#endif

}  // namespace tabgrad
