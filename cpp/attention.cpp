// Causal self-attention over packed queries, keys and values, and its backward.
//
// R = B T rows, H heads of depth D = C / H. A thread takes one head of one window at a
// time, or a piece of one where there are more threads than heads. It copies the head into
// its scratch, with T and D filled up with zeros to whole tiles, and goes through the
// queries in blocks; only a block's scores exist at once, as (keys, queries), so that a
// lane is a query and no sum runs across lanes.
// Source: Dao 2023 (arXiv 2307.08691): only lse = m + log l is kept for the backward.

#include <algorithm>
#include <cmath>

#include "contract.h"
#include "pieces.h"
#include "simd.h"
#include "special.h"
#include "team.h"
#include "tile.h"

namespace tabgrad {

namespace {

inline constexpr std::size_t TILE_ROWS = 4;
inline constexpr std::size_t TILE_COLUMNS = 8;
inline constexpr std::size_t QUERIES = STEPS;   // a tile is 4 keys by 8 queries
inline constexpr std::size_t QUERY_BLOCK = 32;  // the backward's: 4 tiles of queries
inline constexpr float MASKED = -__builtin_inff();

struct Sizes {
  std::size_t T;  // steps of a window
  std::size_t D;  // depth of a head
  std::size_t T_padded;
  std::size_t D_padded;
  float scale;  // 1 / sqrt D

  Sizes(std::size_t time, std::size_t depth)
      : T(time),
        D(depth),
        T_padded(padded(time)),
        D_padded(padded(depth)),
        scale(1.0f / std::sqrt(static_cast<float>(depth))) {}

  std::size_t head() const { return T_padded * D_padded; }
};

// Hands out pieces of a thread's scratch.
class Pool {
 public:
  explicit Pool(float* scratch) : next_(scratch) {}
  float* take(std::size_t n) {
    float* taken = next_;
    next_ += n;
    return taken;
  }

 private:
  float* next_;
};

// Rows of a head (T_padded, D_padded) = rows of T x D from a matrix of `stride` columns.
void copy_in(float* head, const float* from, std::size_t stride, Span rows, const Sizes& s) {
  for (std::size_t t = rows.begin; t < std::min(rows.end, s.T); ++t) {
    std::copy_n(from + t * stride, s.D, head + t * s.D_padded);
    std::fill_n(head + t * s.D_padded + s.D, s.D_padded - s.D, 0.0f);
  }
  if (rows.end > s.T) std::fill(head + s.T * s.D_padded, head + s.head(), 0.0f);
}

// The reverse: rows of T x D of a matrix = those of a head times `factor`.
void copy_out(float* to, std::size_t stride, const float* head, float factor, Span rows,
              const Sizes& s) {
  for (std::size_t t = rows.begin; t < std::min(rows.end, s.T); ++t) {
    lanes(0, s.D, [&](auto io, std::size_t d) {
      io.store(to + t * stride + d, io.load(head + t * s.D_padded + d) * splat(factor));
    });
  }
}

// panel (D_padded, 8) = 8 rows of a head, transposed, times `factor`.
void copy_queries(float* panel, const float* rows, float factor, const Sizes& s) {
  for (std::size_t i = 0; i < QUERIES; i += LANES) {
    const float* from = rows + i * s.D_padded;
    for (std::size_t d = 0; d < s.D_padded; d += LANES) {
      F4 v[LANES];
      for (std::size_t r = 0; r < LANES; ++r) v[r] = load4(from + r * s.D_padded + d);
      transpose4(v[0], v[1], v[2], v[3]);
      for (std::size_t r = 0; r < LANES; ++r) {
        store4(panel + (d + r) * QUERIES + i, v[r] * splat(factor));
      }
    }
  }
}

// out[key * stride + query] = rows[key] . panel[:, query], for keys 0 to n_keys - 1.
void products(float* out, std::size_t stride, const float* rows, const float* panel,
              std::size_t n_keys, const Sizes& s) {
  for (std::size_t key = 0; key < n_keys; key += TILE_ROWS) {
    Tile<TILE_ROWS, TILE_COLUMNS> tile;
    tile.add_product(s.D_padded, rows + key * s.D_padded, s.D_padded, 1, panel, QUERIES);
    tile.store(out + key * stride, stride);
  }
}

// out (D_padded, 8) = sum over keys of rows[key]^T weights[key * stride + query].
void weighted_sum(float* out, const float* rows, const float* weights, std::size_t stride,
                  std::size_t n_keys, const Sizes& s) {
  for (std::size_t d = 0; d < s.D_padded; d += TILE_ROWS) {
    Tile<TILE_ROWS, TILE_COLUMNS> tile;
    tile.add_product(n_keys, rows + d, 1, s.D_padded, weights, stride);
    tile.store(out + d * QUERIES, QUERIES);
  }
}

// For some keys, sums (T_padded, D_padded) += sum over queries of
// weights[key * 32 + query] rows[query]; query 0 is step t, and none before a key sees it.
void add_outer(float* sums, const float* weights, const float* rows, const Span& keys,
               std::size_t t, std::size_t n_queries, const Sizes& s) {
  const std::size_t end = keys.end;
  for (std::size_t key = keys.begin; key < end; key += TILE_ROWS) {
    const std::size_t first = key > t ? key - t : 0;
    for (std::size_t d = 0; d < s.D_padded; d += TILE_COLUMNS) {
      float* sum = sums + key * s.D_padded + d;
      Tile<TILE_ROWS, TILE_COLUMNS> tile;
      tile.load(sum, s.D_padded);
      tile.add_product(n_queries - first, weights + key * QUERY_BLOCK + first, QUERY_BLOCK, 1,
                       rows + first * s.D_padded + d, s.D_padded);
      tile.store(sum, s.D_padded);
    }
  }
}

// A query sees no key after itself: the last 8 keys of the block hold those to hide.
void hide_future(float* scores, std::size_t stride, std::size_t first_query) {
  for (std::size_t key = 1; key < QUERIES; ++key) {
    std::fill_n(scores + (first_query + key) * stride, key, MASKED);
  }
}

struct Softmax {
  F4 m[2];      // the largest score of each of 8 queries
  F4 total[2];  // sum of exp(score - m)
};

// scores (n_keys, 8) become exp(score - m).
Softmax exp_scores(float* scores, std::size_t n_keys) {
  const float* end = scores + n_keys * QUERIES;
  Softmax softmax = {{load4(scores), load4(scores + LANES)}, {}};
  auto [m0, m1] = softmax.m;
  for (const float* p = scores + QUERIES; p != end; p += QUERIES) {
    m0 = at_least(load4(p), m0);
    m1 = at_least(load4(p + LANES), m1);
  }
  auto [total0, total1] = softmax.total;
  for (float* p = scores; p != end; p += QUERIES) {
    const F4 p0 = exp4(load4(p) - m0);
    const F4 p1 = exp4(load4(p + LANES) - m1);
    store4(p, p0);
    store4(p + LANES, p1);
    total0 += p0;
    total1 += p1;
  }
  return {{m0, m1}, {total0, total1}};
}

// to[query * stride + d] = panel[d * 8 + query] * factor[query]: undoes copy_queries.
void write_queries(float* to, std::size_t stride, const float* panel, const float* factor,
                   std::size_t n_queries, const Sizes& s) {
  lanes(0, s.D, [&](auto io, std::size_t d) {
    for (std::size_t i = 0; i < n_queries; i += LANES) {
      F4 v[LANES];
      for (std::size_t r = 0; r < LANES; ++r) v[r] = load4(panel + (d + r) * QUERIES + i);
      transpose4(v[0], v[1], v[2], v[3]);
      for (std::size_t r = 0; r < std::min(LANES, n_queries - i); ++r) {
        io.store(to + (i + r) * stride + d, v[r] * splat(factor[i + r]));
      }
    }
  });
}

// The outputs of some queries of a head.
void forward(const AttentionFwd& a, const Sizes& s, std::size_t unit, Span queries,
             float* scratch) {
  const std::size_t window = unit / a.H;
  const std::size_t head = unit % a.H;
  Pool pool(scratch);
  float* q = pool.take(s.head());
  float* k = pool.take(s.head());
  float* v = pool.take(s.head());
  float* q_panel = pool.take(s.D_padded * QUERIES);
  float* y_panel = pool.take(s.D_padded * QUERIES);
  float* scores = pool.take(s.T_padded * QUERIES);
  const float* qkv = a.qkv + window * s.T * 3 * a.C + head * s.D;
  float* y = a.y + window * s.T * a.C + head * s.D;
  float* lse = a.lse + window * s.T * a.H + head;
  copy_in(q, qkv, 3 * a.C, queries, s);
  copy_in(k, qkv + a.C, 3 * a.C, {0, queries.end}, s);
  copy_in(v, qkv + 2 * a.C, 3 * a.C, {0, queries.end}, s);
  for (std::size_t t = queries.begin; t < queries.end; t += QUERIES) {
    const std::size_t n_queries = std::min(QUERIES, s.T - t);
    const std::size_t n_keys = t + QUERIES;
    copy_queries(q_panel, q + t * s.D_padded, s.scale, s);
    products(scores, QUERIES, k, q_panel, n_keys, s);
    hide_future(scores, QUERIES, t);
    const Softmax softmax = exp_scores(scores, n_keys);
    float inverse[QUERIES];
    for (std::size_t i = 0; i < n_queries; ++i) {
      const float total = softmax.total[i / LANES][i % LANES];
      inverse[i] = 1.0f / total;
      lse[(t + i) * a.H] = softmax.m[i / LANES][i % LANES] + std::log(total);
    }
    weighted_sum(y_panel, v, scores, QUERIES, n_keys, s);
    write_queries(y + t * a.C, a.C, y_panel, inverse, n_queries, s);
  }
}

// What the backward keeps of one head: copies, sums, and one block of scores.
struct Backward {
  float* q;
  float* k;
  float* v;
  float* dy;
  float* dk;
  float* dv;
  float* p;   // (T_padded, 32)
  float* ds;  // (T_padded, 32)
  float* q_panel;
  float* dy_panel;
  float* dq_panel;

  Backward(float* scratch, const Sizes& s) {
    Pool pool(scratch);
    for (float** head : {&q, &k, &v, &dy, &dk, &dv}) *head = pool.take(s.head());
    for (float** block : {&p, &ds}) *block = pool.take(s.T_padded * QUERY_BLOCK);
    for (float** panel : {&q_panel, &dy_panel, &dq_panel}) {
      *panel = pool.take(s.D_padded * QUERIES);
    }
  }
};

// For 8 queries from t and some keys: p = exp(s - lse) and ds = p (dp - delta), as
// (keys, 32).
void rebuild_scores(const Backward& w, const Sizes& s, std::size_t t, const Span& keys, float* p,
                    float* ds, const float* lse, const float* delta) {
  copy_queries(w.q_panel, w.q + t * s.D_padded, s.scale, s);
  copy_queries(w.dy_panel, w.dy + t * s.D_padded, 1.0f, s);
  const std::size_t begin = keys.begin;
  const std::size_t n_keys = keys.end - begin;
  const std::size_t row = begin * s.D_padded;
  products(p + begin * QUERY_BLOCK, QUERY_BLOCK, w.k + row, w.q_panel, n_keys, s);
  if (keys.holds(t)) hide_future(p, QUERY_BLOCK, t);
  products(ds + begin * QUERY_BLOCK, QUERY_BLOCK, w.v + row, w.dy_panel, n_keys, s);
  for (std::size_t i = 0; i < QUERIES; i += LANES) {
    const F4 lse_i = load4(lse + i);
    const F4 delta_i = load4(delta + i);
    for (std::size_t key = begin; key < begin + n_keys; ++key) {
      const std::size_t at = key * QUERY_BLOCK + i;
      const F4 p_i = exp4(load4(p + at) - lse_i);
      store4(p + at, p_i);
      store4(ds + at, p_i * (load4(ds + at) - delta_i));
    }
  }
}

// dq of some queries of a head, dk and dv of some keys. Scores are rebuilt for both: those
// of a query and a key of the piece once.
void backward(const AttentionBwd& a, const Sizes& s, std::size_t unit, const Piece& piece,
              const Backward& w) {
  const std::size_t head = unit % a.H;
  const std::size_t row = unit / a.H * s.T;
  const float* qkv = a.qkv + row * 3 * a.C + head * s.D;
  const float* y = a.y + row * a.C + head * s.D;
  const float* dy = a.dy + row * a.C + head * s.D;
  const float* lse = a.lse + row * a.H + head;
  float* dqkv = a.dqkv + row * 3 * a.C + head * s.D;
  const Span all = {0, s.T_padded};
  copy_in(w.q, qkv, 3 * a.C, all, s);
  copy_in(w.k, qkv + a.C, 3 * a.C, all, s);
  copy_in(w.v, qkv + 2 * a.C, 3 * a.C, all, s);
  copy_in(w.dy, dy, a.C, all, s);
  std::fill_n(w.dk, s.head(), 0.0f);
  std::fill_n(w.dv, s.head(), 0.0f);
  for (std::size_t t0 = 0; t0 < s.T_padded; t0 += QUERY_BLOCK) {
    const std::size_t n_queries = std::min(QUERY_BLOCK, s.T_padded - t0);
    for (std::size_t j = 0; j < n_queries; j += QUERIES) {
      const std::size_t t = t0 + j;
      const bool wants_dq = piece.queries.holds(t);
      const Span past = {0, t + QUERIES};
      const Span keys = wants_dq ? past : piece.keys.before(past.end);
      if (keys.begin == keys.end) continue;
      float lse_t[QUERIES] = {};
      float delta[QUERIES] = {};
      float factor[QUERIES];
      std::fill_n(factor, QUERIES, s.scale);
      const std::size_t n_real = t < s.T ? std::min(QUERIES, s.T - t) : 0;
      for (std::size_t i = 0; i < n_real; ++i) {
        lse_t[i] = lse[(t + i) * a.H];
        F4 sum = splat(0);
        lanes(0, s.D, [&](auto io, std::size_t d) {
          sum = madd(io.load(dy + (t + i) * a.C + d), io.load(y + (t + i) * a.C + d), sum);
        });
        delta[i] = sum_of(sum);
      }
      rebuild_scores(w, s, t, keys, w.p + j, w.ds + j, lse_t, delta);
      if (!wants_dq) continue;
      weighted_sum(w.dq_panel, w.k, w.ds + j, QUERY_BLOCK, t + QUERIES, s);
      write_queries(dqkv + t * 3 * a.C, 3 * a.C, w.dq_panel, factor, n_real, s);
    }
    const Span keys = piece.keys.before(t0 + n_queries);
    add_outer(w.dk, w.ds, w.q + t0 * s.D_padded, keys, t0, n_queries, s);
    add_outer(w.dv, w.p, w.dy + t0 * s.D_padded, keys, t0, n_queries, s);
  }
  copy_out(dqkv + a.C, 3 * a.C, w.dk, s.scale, piece.keys, s);
  copy_out(dqkv + 2 * a.C, 3 * a.C, w.dv, 1.0f, piece.keys, s);
}

// One head of a row over the keys and values kept of the rows before it, and its own.
void cached_head(const AttentionCachedFwd& a, std::size_t head, float* p) {
  const std::size_t D = a.C / a.H;
  const std::size_t stride = 2 * a.C;
  const std::size_t t = *a.index % a.T;
  const float scale = 1.0f / std::sqrt(static_cast<float>(D));
  const float* q = a.qkv + head * D;
  float* k = a.cache + head * D;
  float* v = k + a.C;
  float* y = a.y + head * D;
  std::copy_n(q + a.C, D, k + t * stride);
  std::copy_n(q + 2 * a.C, D, v + t * stride);
  float m = MASKED;
  for (std::size_t j = 0; j <= t; ++j) {
    F4 sum = splat(0);
    lanes(0, D, [&](auto io, std::size_t d) {
      sum = madd(io.load(q + d), io.load(k + j * stride + d), sum);
    });
    p[j] = sum_of(sum) * scale;
    m = std::max(m, p[j]);
  }
  F4 totals = splat(0);
  lanes(0, t + 1, [&](auto io, std::size_t j) {
    const F4 p_j = exp4(io.load(p + j, MASKED) - splat(m));
    io.store(p + j, p_j);
    totals += p_j;
  });
  const float inverse = 1.0f / sum_of(totals);
  std::fill_n(y, D, 0.0f);
  for (std::size_t j = 0; j <= t; ++j) {
    const F4 weight = splat(p[j] * inverse);
    lanes(0, D, [&](auto io, std::size_t d) {
      io.store(y + d, madd(weight, io.load(v + j * stride + d), io.load(y + d)));
    });
  }
}

}  // namespace

// attention_fwd: y = softmax(q k^T / sqrt D) v in each head, causal in each window of T.
//
//   s = q k^T / sqrt D, m = max s, l = sum exp(s - m)
//   y = sum exp(s - m) v / l, lse = m + log l
//
// reads   qkv (R, 3C)
// writes  y (R, C)  lse (R, H)             lse is kept for attention_bwd
// alias   none of them is another
// source  Dao 2023 (arXiv 2307.08691)
void attention_fwd(const AttentionFwd& a, Part& part) {
  const Sizes s(a.T, a.C / a.H);
  share_heads(part, a.R / a.T * a.H, s.T_padded, [&](std::size_t unit, const Piece& piece) {
    forward(a, s, unit, piece.queries, part.scratch());
  });
}

// attention_bwd: dqkv from dy. Forward: p = exp(s - lse), y = p v.
//
//   dv = p^T dy, dp = dy v^T, ds = p (dp - sum_d dy y)
//   dq = ds k / sqrt D, dk = ds^T q / sqrt D
//
// reads   qkv (R, 3C)  y (R, C)  lse (R, H)  dy (R, C)
// writes  dqkv (R, 3C)
// alias   none of them is another
// source  Dao 2023 (arXiv 2307.08691)
void attention_bwd(const AttentionBwd& a, Part& part) {
  const Sizes s(a.T, a.C / a.H);
  const Backward w(part.scratch(), s);
  share_heads(part, a.R / a.T * a.H, s.T_padded,
              [&](std::size_t unit, const Piece& piece) { backward(a, s, unit, piece, w); });
}

// cache_fwd: the keys and values of each row, for attention_cached_fwd.
//
// reads   qkv (R, 3C)
// writes  cache (R, 2C)
// alias   cache is not qkv
void cache_fwd(const CacheFwd& a, Part& part) {
  part.share_rows(a.R, 2 * a.C, [&](std::size_t begin, std::size_t end) {
    for (std::size_t r = begin; r < end; ++r) {
      std::copy_n(a.qkv + r * 3 * a.C + a.C, 2 * a.C, a.cache + r * 2 * a.C);
    }
  });
}

// attention_cached_fwd: keeps k and v of one row in row t = index % T of the cache, and
// y = softmax(q k^T / sqrt D) v in each head, over the rows 0 to t.
//
// reads   qkv (1, 3C)  index (1)
// updates cache (T, 2C)
// writes  y (1, C)
// alias   none of them is another
void attention_cached_fwd(const AttentionCachedFwd& a, Part& part) {
  part.share(a.H, 1, [&](std::size_t head, std::size_t) { cached_head(a, head, part.scratch()); });
}

}  // namespace tabgrad
