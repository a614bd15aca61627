// attention_fwd: y = softmax(q k^T / sqrt D) v, causal in each window, for every head.
//
//   s[j] = q . k[j] / sqrt D, j <= t; lse = log sum_j exp(s[j]); y = sum_j exp(s[j] - lse) v[j]
//
// A workgroup owns queries and walks over keys, see lib/shared_rows.wgsl. Each group of threads
// has m, the largest of its scores so far, and l and acc relative to it, in the end relative to
// the largest of all groups. The longest walks are given out first.
//
// reads   qkv (R, 3C)     a row is q, k, v, each of H heads of D
// writes  y (R, C)  lse (R, H)     lse is kept for attention_bwd
// grid    a workgroup of WG threads per head and OWN queries
// limits  D a multiple of WIDTH, at most DEPTH
// exact   sums in order of tiles: not bit-equal to numpy, see tol in ops/attention.py
// source  Dao 2023 (arXiv 2307.08691), algorithm 1

@group(0) @binding(0) var<storage, read> qkv: array<Elem>;
@group(0) @binding(1) var<storage, read_write> y: array<Elem>;
@group(0) @binding(2) var<storage, read_write> lse: array<f32>;

const MERGES: u32 = (SHARE + SPLITS - 1u) / SPLITS;

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_index) tid: u32) {
  let group = linear_group(wid);
  if (group >= HEADS * OWN_TILES) {
    return;
  }
  let h = group % HEADS % H;
  let row0 = group % HEADS / H * T;
  let first = (OWN_TILES - 1u - group / HEADS) * OWN;
  let lane = tid % 4u;
  let rows = tid % GROUP / 4u * SLOTS;
  let own = rows + lane % SLOTS;
  var q: array<array<vec4<f32>, SHARE>, SLOTS>;
  var acc: array<array<vec4<f32>, SHARE>, SLOTS>;
  var next_k: array<vec4<f32>, SHARE>;
  var next_v: array<vec4<f32>, SHARE>;
  for (var c = 0u; c < SHARE; c++) { // unroll
    let r = row0 + min((c * WG + tid) / ROW, T - 1u);
    next_k[c] = part_of(1u, r, h, (c * WG + tid) % ROW);
    next_v[c] = part_of(2u, r, h, (c * WG + tid) % ROW);
    for (var i = 0u; i < SLOTS; i++) { // unroll
      let query = row0 + min(first + rows + (lane ^ i) % SLOTS, T - 1u);
      q[i][c] = part_of(0u, query, h, lane + 4u * c) * SCALE;
    }
  }
  var m = MASKED;
  var l = 0.0;
  for (var n = 0u; n < OTHER_TILES; n++) {
    if (n * OTHER >= first + OWN) {
      break;
    }
    workgroupBarrier();
    for (var c = 0u; c < SHARE; c++) { // unroll
      tile[c * WG + tid] = next_k[c];
      tile[PART_B + c * WG + tid] = next_v[c];
    }
    workgroupBarrier();
    for (var c = 0u; c < SHARE; c++) { // unroll
      let r = row0 + min((n + 1u) * OTHER + (c * WG + tid) / ROW, T - 1u);
      next_k[c] = part_of(1u, r, h, (c * WG + tid) % ROW);
      next_v[c] = part_of(2u, r, h, (c * WG + tid) % ROW);
    }
    for (var step = 0u; step < STEPS; step++) {
      var s: array<f32, AT_ONCE>;
      let m_old = m;
      for (var k = 0u; k < AT_ONCE; k++) { // unroll
        let other = (step * AT_ONCE + k) * SPLITS + tid / GROUP;
        var part = Slots();
        for (var c = 0u; c < SHARE; c++) { // unroll
          let key = tile[other * ROW + lane + 4u * c];
          for (var i = 0u; i < SLOTS; i++) { // unroll
            part[i] = add_dot(part[i], q[i][c], key);
          }
        }
        s[k] = select(MASKED, gathered(part), n * OTHER + other <= first + own);
        m = max(m, s[k]);
      }
      let rescale = spread(exp(m_old - m));
      l *= rescale.x;
      for (var i = 0u; i < SLOTS; i++) { // unroll
        for (var c = 0u; c < SHARE; c++) { // unroll
          acc[i][c] *= rescale[i];
        }
      }
      for (var k = 0u; k < AT_ONCE; k++) { // unroll
        let other = (step * AT_ONCE + k) * SPLITS + tid / GROUP;
        let p = spread(exp(s[k] - m));
        l += p.x;
        for (var c = 0u; c < SHARE; c++) { // unroll
          let value = tile[PART_B + other * ROW + lane + 4u * c];
          for (var i = 0u; i < SLOTS; i++) { // unroll
            acc[i][c] = fma(vec4<f32>(p[i]), value, acc[i][c]);
          }
        }
      }
    }
  }
  stats[tid / GROUP * OWN + own] = vec2<f32>(m, l);
  workgroupBarrier();
  var top = MASKED;
  for (var k = 0u; k < SPLITS; k++) {
    top = max(top, stats[k * OWN + own].x);
  }
  l = 0.0;
  for (var k = 0u; k < SPLITS; k++) {
    l = fma(stats[k * OWN + own].y, exp(stats[k * OWN + own].x - top), l);
  }
  if (tid < GROUP && first + own < T) {
    lse[(row0 + first + own) * H + h] = top + log(l);
  }
  let share = spread(exp(m - top) / l);
  for (var i = 0u; i < SLOTS; i++) { // unroll
    workgroupBarrier();
    for (var c = 0u; c < SHARE; c++) { // unroll
      tile[c * WG + tid] = acc[i][c] * share[i];
    }
    workgroupBarrier();
    for (var n = 0u; n < MERGES; n++) {
      let e = n * WG + tid;
      let t = first + e % GROUP / 4u * SLOTS + (lane ^ i) % SLOTS;
      let d = lane + e / GROUP % SHARE * 4u;
      if (e < SHARE * GROUP && t < T && d < D_QUADS) {
        put_y(row0 + t, h, d, sum_of_groups(e));
      }
    }
  }
}
