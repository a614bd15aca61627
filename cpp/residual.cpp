// The residual sum. R rows, C channels.

#include "contract.h"
#include "simd.h"
#include "team.h"

namespace tabgrad {

// residual_fwd: y = a + b.
//
// reads   a (R, C)  b (R, C)
// writes  y (R, C)
// alias   y may be a or b
void residual_fwd(const ResidualFwd& a, Part& part) {
  part.share_flat(a.R * a.C, [&](std::size_t begin, std::size_t end) {
    lanes(begin, end,
          [&](auto io, std::size_t i) { io.store(a.y + i, io.load(a.a + i) + io.load(a.b + i)); });
  });
}

// residual_bwd: da = dy, db = dy. Forward: y = a + b.
//
// reads   dy (R, C)
// writes  da (R, C)  db (R, C)             both may be added to
// alias   da and db may be dy where they are not added to; da is not db
void residual_bwd(const ResidualBwd& a, Part& part) {
  part.share_flat(a.R * a.C, [&](std::size_t begin, std::size_t end) {
    lanes(begin, end, [&](auto io, std::size_t i) {
      const F4 dy = io.load(a.dy + i);
      io.store(a.da + i, a.add_da ? io.load(a.da + i) + dy : dy);
      io.store(a.db + i, a.add_db ? io.load(a.db + i) + dy : dy);
    });
  });
}

}  // namespace tabgrad
