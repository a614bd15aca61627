// Token and position embeddings. R = B T rows, T steps, C channels, V tokens.

#include <algorithm>

#include "contract.h"
#include "simd.h"
#include "team.h"

namespace tabgrad {

constexpr std::size_t ID_RANGES = 4;  // a thread, as the few frequent ids make them uneven

// embed_fwd: y[b t] = wte[ids[b t]] + wpe[t].
//
// reads   ids (R)  wte (V, C)  wpe (T, C)
// writes  y (R, C)
// alias   y is none of the others
// limits  ids are less than V: the host checks them
void embed_fwd(const EmbedFwd& a, Part& part) {
  part.share_rows(a.R, a.C, [&](std::size_t begin, std::size_t end) {
    for (std::size_t r = begin; r < end; ++r) {
      const float* wte = a.wte + a.ids[r] * a.C;
      const float* wpe = a.wpe + r % a.T * a.C;
      lanes(0, a.C, [&](auto io, std::size_t c) {
        io.store(a.y + r * a.C + c, io.load(wte + c) + io.load(wpe + c));
      });
    }
  });
}

// embed_bwd: dwte[v] = sum of dy over the rows with id v, dwpe[t] = sum_b dy[b t].
// Forward: y[b t] = wte[ids[b t]] + wpe[t].
//
// Split by ranges of ids for dwte: who has a range looks at all ids, and adds whole rows. Split
// by steps for dwpe.
//
// reads   ids (R)  dy (R, C)
// writes  dwte (V, C)  dwpe (T, C)         both may be added to
// alias   none of them is another
// limits  ids are less than V: the host checks them
void embed_bwd(const EmbedBwd& a, Part& part) {
  const std::size_t ranges = part.n_threads() == 1 ? 1 : ID_RANGES * part.n_threads();
  part.share(a.V, (a.V + ranges - 1) / ranges, [&](std::size_t begin, std::size_t end) {
    if (!a.add_dwte) std::fill(a.dwte + begin * a.C, a.dwte + end * a.C, 0.0f);
    for (std::size_t r = 0; r < a.R; ++r) {
      const std::size_t v = a.ids[r];
      if (v < begin || v >= end) continue;
      float* dwte = a.dwte + v * a.C;
      const float* dy = a.dy + r * a.C;
      lanes(0, a.C, [&](auto io, std::size_t c) {
        io.store(dwte + c, io.load(dwte + c) + io.load(dy + c));
      });
    }
  });
  part.share_rows(a.T, a.R / a.T * a.C, [&](std::size_t begin, std::size_t end) {
    for (std::size_t t = begin; t < end; ++t) {
      float* dwpe = a.dwpe + t * a.C;
      lanes(0, a.C, [&](auto io, std::size_t c) {
        F4 sum = a.add_dwpe ? io.load(dwpe + c) : splat(0);
        for (std::size_t r = t; r < a.R; r += a.T) sum += io.load(a.dy + r * a.C + c);
        io.store(dwpe + c, sum);
      });
    }
  });
}

// embed_at_fwd: y = wte[ids[t]] + wpe[t] of one row, t = index % T.
//
// reads   ids (T)  index (1)  wte (V, C)  wpe (T, C)
// writes  y (1, C)
// alias   y is none of the others
// limits  ids are less than V: the host checks them
void embed_at_fwd(const EmbedAtFwd& a, Part& part) {
  const std::size_t t = *a.index % a.T;
  const float* wte = a.wte + a.ids[t] * a.C;
  const float* wpe = a.wpe + t * a.C;
  part.share_flat(a.C, [&](std::size_t begin, std::size_t end) {
    lanes(begin, end,
          [&](auto io, std::size_t c) { io.store(a.y + c, io.load(wte + c) + io.load(wpe + c)); });
  });
}

}  // namespace tabgrad
