// Waiting for another thread to change a word: the one place that knows the platform.
#pragma once

#include <atomic>
#include <cstdint>

#if !defined(__wasm__)
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#endif

namespace tabgrad {

using Word = std::atomic<std::uint32_t>;

#if defined(__wasm__) && !defined(__wasm_atomics__)

inline constexpr bool HAS_THREADS = false;
inline void wait_while(Word&, std::uint32_t) {}
inline void wake_all(Word&) {}

#elif defined(__wasm__)

inline constexpr bool HAS_THREADS = true;

// Sleeps until woken; returns at once where the word is not `value`, and maybe early.
inline void wait_while(Word& word, std::uint32_t value) {
  __builtin_wasm_memory_atomic_wait32(reinterpret_cast<int*>(&word), static_cast<int>(value), -1);
}

inline void wake_all(Word& word) {
  __builtin_wasm_memory_atomic_notify(reinterpret_cast<int*>(&word), ~0u);
}

#else

inline constexpr bool HAS_THREADS = true;

inline void wait_while(Word& word, std::uint32_t value) {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
}

inline void wake_all(Word& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

#endif

}  // namespace tabgrad
