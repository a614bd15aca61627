// Batches gathered in memory, and the counter that drives a chunk of steps.
// B windows of T = R / B tokens, R rows, S steps of offsets, N tokens of text.

#include <algorithm>

#include "contract.h"
#include "team.h"

namespace tabgrad {

// batch_fwd: tokens and next tokens of the windows at offsets[index].
//
//   ids[b T + t] = corpus[offsets[index % S][b] + t], targets: one further
//
// reads   corpus (N)  offsets (S, B)  index (1)
// writes  ids (R)  targets (R)
// alias   none of them is another
// limits  offsets are at most N - T - 1: the host checks them
void batch_fwd(const BatchFwd& a, Part& part) {
  const std::size_t T = a.R / a.B;
  const std::uint32_t* offsets = a.offsets + *a.index % a.S * a.B;
  part.share_rows(a.B, T, [&](std::size_t begin, std::size_t end) {
    for (std::size_t b = begin; b < end; ++b) {
      const std::uint32_t* tokens = a.corpus + offsets[b];
      std::copy_n(tokens, T, a.ids + b * T);
      std::copy_n(tokens + 1, T, a.targets + b * T);
    }
  });
}

// step_advance: index += 1.
//
// updates index (1)
void step_advance(const StepAdvance& a, Part& part) {
  part.once([&] { *a.index += 1; });
}

}  // namespace tabgrad
