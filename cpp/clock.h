// Milliseconds of a clock that never goes back.
#pragma once

#if defined(__EMSCRIPTEN__)
#include <emscripten.h>
#else
#include <chrono>
#endif

namespace tabgrad {

inline double now_ms() {
#if defined(__EMSCRIPTEN__)
  return emscripten_get_now();
#else
  using namespace std::chrono;
  return duration<double, std::milli>(steady_clock::now().time_since_epoch()).count();
#endif
}

}  // namespace tabgrad
