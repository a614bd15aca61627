// The three matrix products, the linear layer made of them, its bias gradient, and
// products that do the op before or after them while their output is in cache.
//
// M, N rows and columns of y, K the axis summed over. n is a plain operand and t a
// transposed one. product.h does the work.

#include <algorithm>

#include "contract.h"
#include "product.h"
#include "simd.h"
#include "special.h"
#include "team.h"

namespace tabgrad {

// matmul_nn: y = x w.
//
// reads   x (M, K)  w (K, N)
// writes  y (M, N)                         y may be added to
// alias   y is neither x nor w
void matmul_nn(const MatmulNn& a, Part& part) {
  do_product({.x = {a.x, a.K, 1},
              .w = {a.w, 1, a.N},
              .b = nullptr,
              .y = a.y,
              .M = a.M,
              .N = a.N,
              .K = a.K,
              .adds = a.add_y},
             part);
}

// matmul_nt: y = x w^T.
//
// reads   x (M, K)  w (N, K)
// writes  y (M, N)                         y may be added to
// alias   y is neither x nor w
void matmul_nt(const MatmulNt& a, Part& part) {
  do_product({.x = {a.x, a.K, 1},
              .w = {a.w, a.K, 1},
              .b = nullptr,
              .y = a.y,
              .M = a.M,
              .N = a.N,
              .K = a.K,
              .adds = a.add_y},
             part);
}

// matmul_tn: y = x^T w.
//
// reads   x (K, M)  w (K, N)
// writes  y (M, N)                         y may be added to
// alias   y is neither x nor w
void matmul_tn(const MatmulTn& a, Part& part) {
  do_product({.x = {a.x, 1, a.M},
              .w = {a.w, 1, a.N},
              .b = nullptr,
              .y = a.y,
              .M = a.M,
              .N = a.N,
              .K = a.K,
              .adds = a.add_y},
             part);
}

// linear_fwd: y = x w + b.
//
// reads   x (M, K)  w (K, N)  b (N)
// writes  y (M, N)
// alias   y is none of the others
void linear_fwd(const LinearFwd& a, Part& part) {
  do_product({.x = {a.x, a.K, 1},
              .w = {a.w, 1, a.N},
              .b = a.b,
              .y = a.y,
              .M = a.M,
              .N = a.N,
              .K = a.K,
              .adds = false},
             part);
}

// linear_gelu_fwd: y = h Phi(h) and slope = Phi(h) + h phi(h), where h = x w + b, Phi is the
// normal distribution and phi its density.
//
// reads   x (M, K)  w (K, N)  b (N)
// writes  y (M, N)  slope (M, N)           slope is kept for matmul_nt_mul
// alias   y and slope are none of the others
void linear_gelu_fwd(const LinearGeluFwd& a, Part& part) {
  do_product({.x = {a.x, a.K, 1},
              .w = {a.w, 1, a.N},
              .b = a.b,
              .y = a.y,
              .M = a.M,
              .N = a.N,
              .K = a.K,
              .adds = false,
              .beside = a.slope},
             part, [&](auto io, std::size_t i) {
               const Gelu gelu = gelu4(io.load(a.y + i));
               io.store(a.y + i, gelu.y);
               io.store(a.slope + i, gelu.slope);
             });
}

// linear_residual_fwd: y = a + (x w + b).
//
// reads   x (M, K)  w (K, N)  b (N)  a (M, N)
// writes  y (M, N)
// alias   y is none of the others
void linear_residual_fwd(const LinearResidualFwd& a, Part& part) {
  do_product({.x = {a.x, a.K, 1},
              .w = {a.w, 1, a.N},
              .b = a.b,
              .y = a.y,
              .M = a.M,
              .N = a.N,
              .K = a.K,
              .adds = false,
              .beside = a.a},
             part, [&](auto io, std::size_t i) {
               io.store(a.y + i, io.load(a.a + i) + io.load(a.y + i));
             });
}

// matmul_nt_mul: y = (x w^T) slope, element by element.
// Forward: gelu(h) w, with the gradient x; slope is that of gelu at h.
//
// reads   x (M, K)  w (N, K)  slope (M, N)
// writes  y (M, N)
// alias   y is none of the others
void matmul_nt_mul(const MatmulNtMul& a, Part& part) {
  do_product({.x = {a.x, a.K, 1},
              .w = {a.w, a.K, 1},
              .b = nullptr,
              .y = a.y,
              .M = a.M,
              .N = a.N,
              .K = a.K,
              .adds = false,
              .beside = a.slope},
             part, [&](auto io, std::size_t i) {
               io.store(a.y + i, io.load(a.y + i) * io.load(a.slope + i));
             });
}

// linear_bwd_wb: dw = x^T dy, db = sum_r dy. Forward: y = x w + b.
//
// reads   x (K, M)  dy (K, N)
// writes  dw (M, N)  db (N)                both may be added to
// alias   none of them is another
void linear_bwd_wb(const LinearBwdWb& a, Part& part) {
  do_product({.x = {a.x, 1, a.M},
              .w = {a.dy, 1, a.N},
              .b = nullptr,
              .y = a.dw,
              .M = a.M,
              .N = a.N,
              .K = a.K,
              .adds = a.add_dw,
              .sums = a.db,
              .adds_sums = a.add_db},
             part);
}

// grouped_linear_bwd_wb: the same for each of G layers; elements N to W - 1 of db are 0.
//
// reads   x (G, K, M)  dy (G, K, N)
// writes  dw (G, M, N)  db (G, W)
// alias   none of them is another
void grouped_linear_bwd_wb(const GroupedLinearBwdWb& a, Part& part) {
  for (std::size_t g = 0; g < a.G; ++g) {
    if (g > 0) part.finish();
    float* db = a.db + g * a.W;
    do_product({.x = {a.x + g * a.K * a.M, 1, a.M},
                .w = {a.dy + g * a.K * a.N, 1, a.N},
                .b = nullptr,
                .y = a.dw + g * a.M * a.N,
                .M = a.M,
                .N = a.N,
                .K = a.K,
                .adds = false,
                .sums = db,
                .adds_sums = false},
               part);
    if (part.leads()) std::fill(db + a.N, db + a.W, 0.0f);
  }
}

// bias_bwd: db = sum_r dy. Forward: y = x w + b.
//
// reads   dy (M, N)
// writes  db (N)                           db may be added to
// alias   db is not dy
void bias_bwd(const BiasBwd& a, Part& part) {
  part.share(a.N, 16, [&](std::size_t begin, std::size_t end) {
    lanes(begin, end, [&](auto io, std::size_t n) {
      F4 sum = a.add_db ? io.load(a.db + n) : splat(0);
      for (std::size_t m = 0; m < a.M; ++m) sum += io.load(a.dy + m * a.N + n);
      io.store(a.db + n, sum);
    });
  });
}

}  // namespace tabgrad
