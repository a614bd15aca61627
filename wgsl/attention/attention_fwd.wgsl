// attention_fwd: y = softmax(q k^T / sqrt D) v, causal in each window, for every head.
//
//   s[j] = q . k[j] / sqrt D for j <= t
//   lse = log sum_j exp(s[j]); y = sum_j exp(s[j] - lse) v[j]
//
// A workgroup owns OWN queries of a head and walks over tiles of OTHER keys up to the last of
// them. m is the largest score of a row so far; l, a thread's part of the sum, and acc are
// relative to it. The longest walks are given out first.
//
// reads   qkv (R, 3C)     a row is q, k, v, each of H heads of D
// writes  y (R, C)  lse (R, H)     lse is kept for attention_bwd
// grid    a workgroup of WG threads per head and OWN queries
// limits  D a multiple of 4; the tiles must fit in workgroup memory
// exact   sums in order of tiles: not bit-equal to numpy, see tol in ops/attention.py
// source  Dao 2023 (arXiv 2307.08691), algorithm 1

@group(0) @binding(0) var<storage, read> qkv: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read_write> y: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> lse: array<f32>;

const OWN_PARTS: u32 = 1u;
const SCORE_PARTS: u32 = 1u;
const MASKED: f32 = -1e30;  // finite: exp(MASKED - m) is 0, and infinity - infinity is not

var<workgroup> parts: array<vec4<f32>, WG>;  // a number for each of a thread's four rows

struct Walk {
  row0: u32,  // first row of the window
  head: u32,  // first quad of the head in a row
}

// k and v of a key.
fn other_pair(walk: Walk, t: u32, d: u32) -> Pair {
  let at = (walk.row0 + t) * QKV_ROW + C / 4u + walk.head + d;
  return Pair(qkv[at], qkv[at + C / 4u]);
}

fn load_queries(walk: Walk, first: u32, tid: u32) {
  let scale = 1.0 / sqrt(f32(D));
  for (var n = 0u; n < OWN_LOADS; n++) {
    let e = n * WG + tid;
    if (e < OWN * D_QUADS) {
      let r = walk.row0 + min(first + e / D_QUADS, T - 1u);
      let at = e / D_QUADS * TILE_ROW + e % D_QUADS;
      own_tile[at] = qkv[r * QKV_ROW + walk.head + e % D_QUADS] * scale;
    }
  }
}

fn store_row(walk: Walk, t: u32, d: u32, value: vec4<f32>) {
  if (t < T && d < D_QUADS) {
    y[(walk.row0 + t) * (C / 4u) + walk.head + d] = value;
  }
}

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_index) tid: u32) {
  let group = linear_group(wid);
  if (group >= HEADS * OWN_TILES) {
    return;
  }
  let h = group % HEADS % H;
  let walk = Walk(group % HEADS / H * T, h * D_QUADS);
  let first = (OWN_TILES - 1u - group / HEADS) * OWN;
  let i = tid / OTHER_QUADS;
  let j = tid % OTHER_QUADS;
  let t = first + i + OWN_QUADS * vec4<u32>(0u, 1u, 2u, 3u);
  var m = vec4<f32>(MASKED);
  var l = vec4<f32>();
  var acc: array<Quads, OWNED>;
  var fetched = fetch_other(walk, 0u, tid);
  load_queries(walk, first, tid);
  for (var n = 0u; n < OTHER_TILES; n++) {
    if (n * OTHER >= first + OWN) {
      break;
    }
    workgroupBarrier();
    store_other(fetched, tid);
    workgroupBarrier();
    fetched = fetch_other(walk, (n + 1u) * OTHER, tid);
    var s = scores_of(0u, 0u, i, j);
    let key = n * OTHER + j + OTHER_QUADS * vec4<u32>(0u, 1u, 2u, 3u);
    s.a = select(vec4<f32>(MASKED), s.a, key <= vec4<u32>(t.x));
    s.b = select(vec4<f32>(MASKED), s.b, key <= vec4<u32>(t.y));
    s.c = select(vec4<f32>(MASKED), s.c, key <= vec4<u32>(t.z));
    s.d = select(vec4<f32>(MASKED), s.d, key <= vec4<u32>(t.w));
    parts[tid] = vec4<f32>(largest(s.a), largest(s.b), largest(s.c), largest(s.d));
    workgroupBarrier();
    let m_old = m;
    for (var k = 0u; k < OTHER_QUADS; k++) {
      m = max(m, parts[tid / OTHER_QUADS * OTHER_QUADS + k]);
    }
    let rescale = exp(m_old - m);
    s = Quads(exp(s.a - m.x), exp(s.b - m.y), exp(s.c - m.z), exp(s.d - m.w));
    l = fma(l, rescale, vec4<f32>(total(s.a), total(s.b), total(s.c), total(s.d)));
    store_scores(0u, i, j, s);
    workgroupBarrier();
    for (var c = 0u; c < OWNED; c++) {
      let o = acc[c];
      let moved = Quads(o.a * rescale.x, o.b * rescale.y, o.c * rescale.z, o.d * rescale.w);
      acc[c] = add_weighted(moved, 0u, OTHER_B, i, j, min(quad_of(c, j), D_QUADS - 1u));
    }
  }
  workgroupBarrier();
  parts[tid] = l;
  workgroupBarrier();
  l = vec4<f32>();
  for (var k = 0u; k < OTHER_QUADS; k++) {
    l += parts[tid / OTHER_QUADS * OTHER_QUADS + k];
  }
  for (var c = 0u; c < OWNED; c++) {
    let o = joined_parts(acc[c], i, j);
    let d = select(D_QUADS, quad_of(c, j), part_of(j) == 0u);
    store_row(walk, t.x, d, o.a / l.x);
    store_row(walk, t.y, d, o.b / l.y);
    store_row(walk, t.z, d, o.c / l.z);
    store_row(walk, t.w, d, o.d / l.w);
  }
  if (j < 4u && t[j] < T) {
    lse[(walk.row0 + t[j]) * H + h] = m[j] + log(l[j]);
  }
}
