#include "team.h"

namespace tabgrad {

namespace {

// Looks at a word before sleeping: at most so many for each thread of the team, and as many
// at least. Threads differ at the end of an op by up to a block of a product, and to be woken
// takes longer than most small ops; of many threads that sleep, one after the other is woken.
constexpr std::size_t LOOKS = 20'000;

}  // namespace

// Nobody can end an op without this thread, so the phase is that of the op to come.
Part::Part(Team& team, std::size_t number)
    : team_(team),
      number_(number),
      looks_(team.most_looks_),
      side_(team.phase_.load(std::memory_order_relaxed) % 2) {}

Word& Part::taken_of(std::size_t owner, std::size_t share) {
  return team_.taken_[owner].sides[side_][share];
}

float* Part::scratch() const { return team_.seats_[number_].scratch; }

float* Part::shared() const { return team_.shared_; }

std::size_t Part::n_threads() const { return team_.n_threads_; }

void Part::finish() {
  side_ = 1 - side_;
  n_shares_ = 0;
  for (std::size_t share = 0; share < MAX_SHARES; ++share) {
    taken_of(number_, share).store(0, std::memory_order_relaxed);
  }
  team_.barrier(looks_);
}

bool Team::start(std::size_t n_threads, const std::array<float*, MAX_THREADS>& scratch) {
  n_threads_ = n_threads;
  most_looks_ = LOOKS * n_threads;
  quits_ = false;
  n_ready_ = 0;
  // taken here, so that a thread that is late does not miss the first round
  const std::uint32_t round = round_;
  for (Taken& taken : taken_) {
    for (auto& side : taken.sides) {
      for (Word& word : side) word = 0;
    }
  }
  for (std::size_t i = 0; i < n_threads; ++i) seats_[i] = {this, i, scratch[i], {}, round};
  for (std::size_t i = 1; i < n_threads; ++i) {
    if (pthread_create(&seats_[i].thread, nullptr, work, &seats_[i]) != 0) {
      n_threads_ = i;
      stop();
      return false;
    }
  }
  return true;
}

void Team::stop() {
  quits_ = true;
  announce(round_, n_idle_);
  for (std::size_t i = 1; i < n_threads_; ++i) pthread_join(seats_[i].thread, nullptr);
  n_threads_ = 1;
}

void Team::run(Job job, float* shared) {
  job_ = job;
  shared_ = shared;
  announce(round_, n_idle_);
  Part part(*this, 0);
  job(part);
}

void* Team::work(void* argument) {
  Seat& seat = *static_cast<Seat*>(argument);
  Team& team = *seat.team;
  std::uint32_t round = seat.first_round;
  team.n_ready_.fetch_add(1);
  while (true) {
    std::size_t looks = team.most_looks_;
    await_change(team.round_, round, team.n_idle_, looks);
    ++round;
    if (team.quits_) return nullptr;
    Part part(team, seat.number);
    team.job_(part);
  }
}

// The last thread to arrive lets the others go.
void Team::barrier(std::size_t& looks) {
  const std::uint32_t phase = phase_.load(std::memory_order_relaxed);
  if (n_arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == n_threads_) {
    n_arrived_.store(0, std::memory_order_relaxed);
    announce(phase_, n_asleep_);
  } else {
    await_change(phase_, phase, n_asleep_, looks);
    looks = std::min(looks, most_looks_);
  }
}

// Who has looked in vain looks half as long the next time, and longer again after each wait
// that was short enough: where cores are few, it keeps one from the thread it waits for.
//
// A sleeper counts itself before it looks at the word for the last time, and the waker
// changes the word before it looks at the count: one of them sees the other.
void Team::await_change(Word& word, std::uint32_t old, Word& n_asleep, std::size_t& looks) {
  for (std::size_t i = 0; i < looks; ++i) {
    if (word.load(std::memory_order_acquire) != old) {
      looks += looks / 8;
      return;
    }
  }
  looks = std::max(LOOKS, looks / 2);
  n_asleep.fetch_add(1);
  while (word.load() == old) wait_while(word, old);
  n_asleep.fetch_sub(1);
}

void Team::announce(Word& word, Word& n_asleep) {
  word.fetch_add(1);
  if (n_asleep.load() != 0) wake_all(word);
}

}  // namespace tabgrad
