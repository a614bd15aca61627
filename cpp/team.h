// Team: a persistent pool of threads that run a list of ops in lock step. Part: what one
// thread does of one op.
//
// Work is split by outputs only: what computes an output, and in which order, is the same
// for any number of threads, so results are bit-equal. A barrier stands between two ops.
// Each thread begins with a run of neighbouring units of its own, much the same in each op,
// so that what it wrote in one op is in its cache in the next; then it helps the others.
#pragma once

#include <pthread.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "sync.h"

namespace tabgrad {

inline constexpr std::size_t MAX_THREADS = 64;
inline constexpr std::size_t MAX_SHARES = 2;  // of an op

class Team;

class Part {
 public:
  Part(Team& team, std::size_t number);

  // Whether this is the thread that called Team::run.
  bool leads() const { return number_ == 0; }

  // Calls body(begin, end) for runs of at most `grain` of the units 0 to n - 1; each run
  // is done by one thread of the team. An op may share out work twice.
  template <typename Body>
  void share(std::size_t n, std::size_t grain, Body body) {
    const std::size_t team = n_threads();
    const std::uint64_t runs = (n + grain - 1) / grain;
    const std::size_t share = n_shares_++;
    for (std::size_t i = 0; i < team; ++i) {
      const std::size_t owner = (number_ + i) % team;
      const auto first = static_cast<std::size_t>(runs * owner / team);
      const std::size_t count = static_cast<std::size_t>(runs * (owner + 1) / team) - first;
      Word& taken = taken_of(owner, share);
      while (taken.load(std::memory_order_relaxed) < count) {
        const std::size_t mine = taken.fetch_add(1, std::memory_order_relaxed);
        if (mine >= count) break;
        const std::size_t begin = (first + mine) * grain;
        body(begin, std::min(n, begin + grain));
      }
    }
  }

  // The same for n elements of no particular shape; runs are whole cache lines.
  template <typename Body>
  void share_flat(std::size_t n, Body body) {
    share(n, 8192, body);
  }

  // The same for rows of `width` elements each.
  template <typename Body>
  void share_rows(std::size_t n, std::size_t width, Body body) {
    share(n, std::max<std::size_t>(1, 8192 / std::max<std::size_t>(1, width)), body);
  }

  // One thread calls body().
  template <typename Body>
  void once(Body body) {
    share(1, 1, [&](std::size_t, std::size_t) { body(); });
  }

  std::size_t n_threads() const;

  // This thread's own memory, as much as the contract says for the op.
  float* scratch() const;

  // Memory of the whole team, as much as the contract says for the op.
  float* shared() const;

  // The op is done: the next may share out work once the whole team has called this.
  void finish();

 private:
  Word& taken_of(std::size_t owner, std::size_t share);

  Team& team_;
  std::size_t number_;
  std::size_t looks_;
  std::size_t side_;
  std::size_t n_shares_ = 0;
};

class Team {
 public:
  using Job = void (*)(Part& part);

  // Starts threads beside the calling one; false where the system gives none.
  bool start(std::size_t n_threads, const std::array<float*, MAX_THREADS>& scratch);

  // Threads that are ready, the calling one included.
  std::size_t n_ready() const { return n_ready_.load() + 1; }

  // Every thread, the calling one too, calls job(part) once; `shared` is theirs meanwhile.
  void run(Job job, float* shared);

  // Ends the threads and waits for them.
  void stop();

 private:
  friend class Part;
  struct Seat {
    Team* team;
    std::size_t number;
    float* scratch;
    pthread_t thread;
    std::uint32_t first_round;
  };
  // How many of a thread's own runs are taken, in each share of an op. Ops use the two
  // sides in turn, so that a thread can make one new while others still look at the other.
  struct alignas(64) Taken {
    std::array<std::array<Word, MAX_SHARES>, 2> sides{};
  };

  static void* work(void* seat);
  void barrier(std::size_t& looks);
  static void await_change(Word& word, std::uint32_t old, Word& n_asleep, std::size_t& looks);
  static void announce(Word& word, Word& n_asleep);

  std::size_t n_threads_ = 1;
  std::size_t most_looks_ = 0;  // at a word before sleeping
  std::array<Seat, MAX_THREADS> seats_{};
  Job job_ = nullptr;
  float* shared_ = nullptr;
  bool quits_ = false;
  Word n_ready_{0};
  // each on a cache line of its own, as all threads watch or change them
  alignas(64) Word round_{0};
  alignas(64) Word phase_{0};
  alignas(64) Word n_arrived_{0};
  std::array<Taken, MAX_THREADS> taken_{};
  alignas(64) Word n_idle_{0};
  alignas(64) Word n_asleep_{0};
};

}  // namespace tabgrad
