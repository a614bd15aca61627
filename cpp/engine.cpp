// The C ABI: takes a plan once, then runs whole chunks of its steps.
//
// One module is one engine. Every call comes from the thread that opened it. Pointers and
// sizes are of the memory's width; a status is 0 or says what is wrong, see `Status`.

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>

#include "clock.h"
#include "contract.h"
#include "memory.h"
#include "normals.h"
#include "peak.h"
#include "room.h"
#include "team.h"
#include "tile_choice.h"

#if defined(__EMSCRIPTEN__)
#include <emscripten.h>
#define EXPORTED extern "C" EMSCRIPTEN_KEEPALIVE
#else
#define EXPORTED extern "C" __attribute__((visibility("default")))
#endif

namespace tabgrad {

namespace {

// site/js/players/wasm.js has the words for each.
enum Status : int {
  OK = 0,
  NOT_A_PLAN = 1,
  OTHER_CONTRACT = 2,
  DOES_NOT_FIT = 3,
  NO_PROGRAM = 4,
  OUTSIDE = 5,
};

// A serialised plan begins with these words, see py/tabgrad/backends/wasm_abi.py.
struct Head {
  std::uint64_t magic;
  std::uint64_t contract;
  std::uint64_t arena_bytes;
  std::uint64_t shared;  // byte of the arena
  std::uint64_t scratch_bytes;
  std::uint64_t n_programs;
};

struct Program {
  std::uint64_t start;  // word of the plan
  std::uint64_t n_calls;
};

struct Engine {
  Team team;
  TileChoice tiles;
  Room room{0, 0, 0};
  std::byte* arena = nullptr;
  std::size_t used_bytes = 0;  // of the arena, by any plan so far: the rest is zeros
  const std::uint64_t* plan = nullptr;
  void* buffer = nullptr;
  void* times = nullptr;

  const Head& head() const { return *reinterpret_cast<const Head*>(plan); }
  const Program* programs() const { return reinterpret_cast<const Program*>(&head() + 1); }
};

Engine engine;

// What the team runs at the moment.
struct Job {
  const std::uint64_t* calls;
  std::uint64_t n_calls;
  int n_steps;
  double* ends;  // null, or where the leader notes the time before the first call and
                 // after each
};

Job job;

// Works on a copy: after the last barrier the next job may be there already.
void run_job(Part& part) {
  const Job mine = job;
  double* ends = part.leads() ? mine.ends : nullptr;
  if (ends != nullptr) *ends++ = now_ms();
  for (int step = 0; step < mine.n_steps; ++step) {
    const std::uint64_t* call = mine.calls;
    for (std::uint64_t i = 0; i < mine.n_calls; ++i) {
      const OpRow& op = OPS[*call];
      op.run(call, engine.arena, part);
      part.finish();
      if (ends != nullptr) *ends++ = now_ms();
      call += op.n_words;
    }
  }
}

Normals normals;

void run_normals(Part& part) {
  const Normals mine = normals;
  fill_normals(mine, part);
  part.finish();
}

// Walks through the calls of a program; false where one is unknown or leaves its room.
bool fits(const std::uint64_t* plan, std::size_t n_words, const Program& program,
          const Room& room) {
  std::uint64_t at = program.start;
  for (std::uint64_t i = 0; i < program.n_calls; ++i) {
    if (at >= n_words || plan[at] >= std::size(OPS)) return false;
    const OpRow& op = OPS[plan[at]];
    if (op.n_words > n_words - at || !op.fits(plan + at, room)) return false;
    at += op.n_words;
  }
  return true;
}

bool is_tile(int number) { return 0 <= number && number < static_cast<int>(std::size(TILES)); }

const Program* program_of(int number) {
  if (engine.plan == nullptr || number < 0) return nullptr;
  const auto n = static_cast<std::uint64_t>(number);
  return n < engine.head().n_programs ? &engine.programs()[n] : nullptr;
}

Status run_program(int number, int n_steps, double* ends) {
  const Program* chosen = program_of(number);
  if (chosen == nullptr) return NO_PROGRAM;
  if (chosen->n_calls == 0 || n_steps < 1) return OK;  // no barrier would hold the team
  job = {engine.plan + chosen->start, chosen->n_calls, n_steps, ends};
  float* shared = at<float*>(engine.arena, engine.head().shared);
  engine.team.run(run_job, shared);
  return OK;
}

Status check(const std::uint64_t* plan, std::size_t n_words) {
  if (n_words < sizeof(Head) / 8) return NOT_A_PLAN;
  const Head& head = *reinterpret_cast<const Head*>(plan);
  if (head.magic != MAGIC) return NOT_A_PLAN;
  if (head.contract != CONTRACT) return OTHER_CONTRACT;
  if (head.n_programs > (n_words - sizeof(Head) / 8) / 2) return NOT_A_PLAN;
  if (head.arena_bytes > engine.room.arena) return DOES_NOT_FIT;
  if (head.shared % 4 != 0 || head.shared > head.arena_bytes) return DOES_NOT_FIT;
  if (head.scratch_bytes > engine.room.scratch) return DOES_NOT_FIT;
  const Room room{head.shared, head.arena_bytes - head.shared, engine.room.scratch};
  const auto* programs = reinterpret_cast<const Program*>(&head + 1);
  for (std::uint64_t i = 0; i < head.n_programs; ++i) {
    if (!fits(plan, n_words, programs[i], room)) return DOES_NOT_FIT;
  }
  return OK;
}

}  // namespace

// Takes memory and starts threads; returns where the arena starts, or null where memory
// or threads are missing. The threads are ready when tg_ready returns their number.
EXPORTED std::byte* tg_open(std::size_t arena_bytes, std::size_t scratch_bytes, int n_threads) {
  if (n_threads < 1 || static_cast<std::size_t>(n_threads) > MAX_THREADS) return nullptr;
  engine.arena = take_block(arena_bytes);
  std::array<float*, MAX_THREADS> scratch{};
  bool has_all = engine.arena != nullptr;
  for (std::size_t i = 0; has_all && i < static_cast<std::size_t>(n_threads); ++i) {
    scratch[i] = reinterpret_cast<float*>(take_block(scratch_bytes));
    has_all = scratch[i] != nullptr;
  }
  engine.room = {arena_bytes, 0, scratch_bytes};
  engine.used_bytes = 0;
  engine.tiles = {};
  tile_in_use = DEFAULT_TILE;
  if (!has_all) return nullptr;
  return engine.team.start(static_cast<std::size_t>(n_threads), scratch) ? engine.arena : nullptr;
}

// Threads that wait for work, the caller included.
EXPORTED int tg_ready() { return static_cast<int>(engine.team.n_ready()); }

// Room for a serialised plan, which replaces the plan before; null where there is none.
EXPORTED void* tg_room(std::size_t n_bytes) {
  std::free(engine.buffer);
  engine.plan = nullptr;
  engine.buffer = std::malloc(n_bytes);
  return engine.buffer;
}

// Takes the plan written to tg_room; its arena becomes zeros. Returns a status.
EXPORTED int tg_load(const std::byte* plan, std::size_t n_bytes) {
  if (plan == nullptr || plan != engine.buffer) return NOT_A_PLAN;
  const auto* words = reinterpret_cast<const std::uint64_t*>(plan);
  const Status status = check(words, n_bytes / sizeof(std::uint64_t));
  if (status != OK) return status;
  std::memset(engine.arena, 0, engine.used_bytes);
  engine.plan = words;
  const auto bytes = static_cast<std::size_t>(engine.head().arena_bytes);
  engine.used_bytes = std::max(engine.used_bytes, bytes);
  return OK;
}

// Runs a program of the plan, by number, n_steps times. Returns a status.
EXPORTED int tg_run(int program, int n_steps) { return run_program(program, n_steps, nullptr); }

// Runs a program as tg_run does; returns where the times in ms lie, one before the first
// call and one after each call of each step, or null where there is nothing to run.
EXPORTED const double* tg_time(int program, int n_steps) {
  const Program* chosen = program_of(program);
  if (chosen == nullptr || chosen->n_calls == 0 || n_steps < 1) return nullptr;
  std::free(engine.times);
  const auto n = static_cast<std::size_t>(chosen->n_calls) * static_cast<std::size_t>(n_steps);
  engine.times = std::malloc((n + 1) * sizeof(double));
  auto* ends = static_cast<double*>(engine.times);
  if (ends != nullptr) run_program(program, n_steps, ends);
  return ends;
}

// Multiplies and adds on the calling thread alone, in registers; returns GFLOP/s.
EXPORTED float tg_peak() { return static_cast<float>(measured_gflops()); }

// Times the tiles for a millisecond or two; call it again after so many milliseconds as it
// returns. When it returns -1 products are made of the fastest tile.
EXPORTED int tg_time_tiles() {
  constexpr int PAUSE_MS = 8;  // in which the browser compiles
  engine.tiles.time_round();
  if (!engine.tiles.is_made()) return engine.tiles.is_compiled() ? 0 : PAUSE_MS;
  tile_in_use = engine.tiles.fastest();
  return -1;
}

// What tg_time_tiles found of a tile: GFLOP/s of a thread, 0 where it could not time them.
EXPORTED float tg_tile_gflops(int tile) {
  return is_tile(tile) ? static_cast<float>(engine.tiles.gflops(static_cast<std::size_t>(tile)))
                       : 0;
}

// Makes products of a tile from now on, by its number, if there is one; returns the number
// of the tile in use. Results are the same to the bit.
EXPORTED int tg_use_tile(int tile) {
  if (is_tile(tile)) tile_in_use = static_cast<std::size_t>(tile);
  return static_cast<int>(tile_in_use);
}

// Fills n floats from a byte of the arena on with fresh weights: std times the normals of
// a stream. Returns a status.
EXPORTED int tg_fill_normals(std::size_t offset, std::size_t n, std::uint32_t seed_low,
                             std::uint32_t seed_high, std::uint32_t sub_stream,
                             std::uint32_t stream, float std) {
  if (!engine.room.holds(offset, n)) return OUTSIDE;
  normals = {at<float*>(engine.arena, offset), n, {seed_low, seed_high}, sub_stream, stream, std};
  engine.team.run(run_normals, nullptr);
  return OK;
}

// Ends the threads and gives back the memory.
EXPORTED void tg_close() {
  engine.team.stop();
  tg_room(0);
  std::free(engine.times);
  engine.times = nullptr;
  give_back_blocks();
  engine.arena = nullptr;
  engine.room = {0, 0, 0};
}

}  // namespace tabgrad
