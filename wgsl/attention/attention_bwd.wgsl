// attention_bwd: gradients of queries, keys and values; the probabilities are rebuilt from lse.
//
//   forward: s[i, j] = q[i] . k[j] / sqrt D; p = exp(s - lse[i]); y[i] = sum_j p[i, j] v[j]
//   delta[i] = dy[i] . y[i], in scratch (R, H) from the first pass
//   ds[i, j] = p[i, j] (dy[i] . v[j] - delta[i]) / sqrt D
//   dq[i] = sum_j ds[i, j] k[j]
//   dk[j] = sum_i ds[i, j] q[i]; dv[j] = sum_i p[i, j] dy[i]
//
// A workgroup owns OWN rows of a head, as queries or as keys, and walks over tiles of OTHER rows
// of the other kind. Both roles do the same: with (a, b) = (q, dy) of a query and (k, v) of a
// key, s = a a', dp = b b', gradient of a = sum ds a', and for keys gradient of b = sum p b'.
// See lib/walk.wgsl. Every sum has one owner and one order. The longest walks are given out first.
//
// reads   qkv (R, 3C)  y (R, C)  lse (R, H)  dy (R, C)
// writes  dqkv (R, 3C)
// grid    two workgroups of WG threads per head and OWN rows: of keys, of queries
// limits  D a multiple of 4; the tiles must fit in workgroup memory
// exact   sums in order of tiles: not bit-equal to numpy, see tol in ops/attention.py
// source  Dao 2023 (arXiv 2307.08691), algorithm 2

@group(0) @binding(0) var<storage, read> qkv: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> y: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> lse: array<f32>;
@group(0) @binding(3) var<storage, read> dy: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read_write> dqkv: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read_write> scratch: array<f32>;

const OWN_PARTS: u32 = 2u;
const SCORE_PARTS: u32 = 2u;

// The gradients of quad d of the own row t.
fn store_row(walk: Walk, t: u32, d: u32, grad_a: vec4<f32>, grad_b: vec4<f32>) {
  if (t >= T || d >= D_QUADS) {
    return;
  }
  let at = (walk.row0 + t) * QKV_ROW + walk.h * D_QUADS + d;
  if (walk.is_key) {
    dqkv[at + C_QUADS] = grad_a;
    dqkv[at + 2u * C_QUADS] = grad_b;
  } else {
    dqkv[at] = grad_a;
  }
}

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_index) tid: u32) {
  let group = linear_group(wid);
  if (group >= 2u * HEADS * OWN_TILES) {
    return;
  }
  let is_key = group % (2u * HEADS) < HEADS;
  let walk = Walk(is_key, group % HEADS / H * T, group % HEADS % H);
  let turn = group / (2u * HEADS);
  let first = select(OWN_TILES - 1u - turn, turn, is_key) * OWN;
  let i = tid / OTHER_QUADS;
  let j = tid % OTHER_QUADS;
  let steps = vec4<u32>(0u, 1u, 2u, 3u);
  let own = i + OWN_QUADS * steps;
  let t = first + own;
  var grad_a: array<Quads, OWNED>;
  var grad_b: array<Quads, OWNED>;
  let far = select(0u, first / OTHER * OTHER, is_key);
  var fetched = fetch_other(walk, far, tid);
  var fetched_stats = fetch_stats(walk, select(first, far, is_key) + tid);
  load_own(walk, first, tid);
  for (var n = 0u; n < OTHER_TILES; n++) {
    let other = n * OTHER + j + OTHER_QUADS * steps;
    let is_far = select(n * OTHER >= first + OWN, n * OTHER + OTHER <= first, is_key);
    if (is_far) {
      continue;
    }
    workgroupBarrier();
    store_other(fetched, tid);
    if (tid < STATS) {
      stats[tid] = fetched_stats;
    }
    workgroupBarrier();
    fetched = fetch_other(walk, (n + 1u) * OTHER, tid);
    if (is_key) {
      fetched_stats = fetch_stats(walk, (n + 1u) * OTHER + tid);
    }
    let s = scores_of(0u, 0u, i, j);
    let dp = scores_of(OWN_B, OTHER_B, i, j);
    let a = row_of(is_key, t.x, other, s.a, dp.a, stats_of(is_key, own.x, j));
    let b = row_of(is_key, t.y, other, s.b, dp.b, stats_of(is_key, own.y, j));
    let c = row_of(is_key, t.z, other, s.c, dp.c, stats_of(is_key, own.z, j));
    let d = row_of(is_key, t.w, other, s.d, dp.d, stats_of(is_key, own.w, j));
    store_scores(0u, i, j, Quads(a.ds, b.ds, c.ds, d.ds));
    store_scores(SCORE_B, i, j, Quads(a.p, b.p, c.p, d.p));
    workgroupBarrier();
    for (var k = 0u; k < OWNED; k++) {
      let at = min(quad_of(k, j), D_QUADS - 1u);
      grad_a[k] = add_weighted(grad_a[k], 0u, 0u, i, j, at);
      if (is_key) {
        grad_b[k] = add_weighted(grad_b[k], SCORE_B, OTHER_B, i, j, at);
      }
    }
  }
  for (var k = 0u; k < OWNED; k++) {
    let a = joined_parts(grad_a[k], i, j);
    let b = joined_parts(grad_b[k], i, j);
    let at = select(D_QUADS, quad_of(k, j), part_of(j) == 0u);
    store_row(walk, t.x, at, a.a, b.a);
    store_row(walk, t.y, at, a.b, b.b);
    store_row(walk, t.z, at, a.c, b.c);
    store_row(walk, t.w, at, a.d, b.d);
  }
}
