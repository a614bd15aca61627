// attention_bwd: gradients of queries, keys and values; the probabilities are rebuilt from lse.
//
//   forward: s[i, j] = q[i] . k[j] / sqrt D; p = exp(s - lse[i]); y[i] = sum_j p[i, j] v[j]
//   delta[i] = dy[i] . y[i], made here or in scratch (R, H) from a pass before
//   ds[i, j] = p[i, j] (dy[i] . v[j] - delta[i]) / sqrt D
//   dq[i] = sum_j ds[i, j] k[j]
//   dk[j] = sum_i ds[i, j] q[i]; dv[j] = sum_i p[i, j] dy[i]
//
// A workgroup owns queries or keys and walks over the others, see lib/shared_rows.wgsl. Both do
// the same: s = a a', dp = b b', gradient of a = sum ds a', and for keys of b = sum p b'. Every
// sum has one owner and one order. The longest walks are given out first.
//
// reads   qkv (R, 3C)  y (R, C)  lse (R, H)  dy (R, C)
// writes  dqkv (R, 3C)
// grid    two workgroups of WG threads per head and OWN rows: of keys, of queries
// limits  D a multiple of WIDTH, at most DEPTH
// exact   sums in order of tiles: not bit-equal to numpy, see tol in ops/attention.py
// source  Dao 2023 (arXiv 2307.08691), algorithm 2

@group(0) @binding(0) var<storage, read> qkv: array<Elem>;
@group(0) @binding(1) var<storage, read> y: array<Elem>;
@group(0) @binding(2) var<storage, read> lse: array<f32>;
@group(0) @binding(3) var<storage, read> dy: array<Elem>;
@group(0) @binding(4) var<storage, read_write> dqkv: array<Elem>;
@group(0) @binding(5) var<storage, read_write> scratch: array<f32>;

const MERGES: u32 = (2u * SHARE + SPLITS - 1u) / SPLITS;

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_index) tid: u32) {
  let group = linear_group(wid);
  if (group >= 2u * HEADS * OWN_TILES) {
    return;
  }
  let is_key = group % (2u * HEADS) < HEADS;
  let row0 = group % HEADS / H * T;
  let h = group % HEADS % H;
  let turn = group / (2u * HEADS);
  let first = select(OWN_TILES - 1u - turn, turn, is_key) * OWN;
  let lane = tid % 4u;
  let rows = first + tid % GROUP / 4u * SLOTS;
  let t = rows + lane % SLOTS;
  var own_a: array<array<vec4<f32>, SHARE>, SLOTS>;
  var own_b: array<array<vec4<f32>, SHARE>, SLOTS>;
  var grad_a: array<array<vec4<f32>, SHARE>, SLOTS>;
  var grad_b: array<array<vec4<f32>, SHARE>, SLOTS>;
  var deltas = Slots();
  for (var i = 0u; i < SLOTS; i++) { // unroll
    let r = row0 + min(rows + (lane ^ i) % SLOTS, T - 1u);
    for (var c = 0u; c < SHARE; c++) { // unroll
      own_a[i][c] = part_of(select(0u, 1u, is_key), r, h, lane + 4u * c);
      // both are read: loads in branches would wait for each other
      let dy_quad = dy_of(r, h, lane + 4u * c);
      own_b[i][c] = select(dy_quad, part_of(2u, r, h, lane + 4u * c), is_key);
      deltas[i] = add_delta(deltas[i], dy_quad, r, h, lane + 4u * c);
    }
  }
  var of_query = stats_of(row0, h, t, gathered(deltas));
  for (var n = 0u; n < OTHER_TILES; n++) {
    let is_far = select(n * OTHER >= first + OWN, n * OTHER + OTHER <= first, is_key);
    if (is_far) {
      continue;
    }
    fetch_tile(is_key, row0, h, n * OTHER, tid);
    for (var step = 0u; step < STEPS; step++) {
      var a: array<array<vec4<f32>, SHARE>, AT_ONCE>;
      var b: array<array<vec4<f32>, SHARE>, AT_ONCE>;
      var s: array<Slots, AT_ONCE>;
      var g: array<Slots, AT_ONCE>;
      for (var k = 0u; k < AT_ONCE; k++) { // unroll
        let other = (step * AT_ONCE + k) * SPLITS + tid / GROUP;
        for (var c = 0u; c < SHARE; c++) { // unroll
          a[k][c] = tile[other * ROW + lane + 4u * c];
          b[k][c] = tile[PART_B + other * ROW + lane + 4u * c];
          for (var i = 0u; i < SLOTS; i++) { // unroll
            s[k][i] = add_dot(s[k][i], own_a[i][c], a[k][c]);
            g[k][i] = add_dot(g[k][i], own_b[i][c], b[k][c]);
          }
        }
      }
      for (var k = 0u; k < AT_ONCE; k++) { // unroll
        let other = (step * AT_ONCE + k) * SPLITS + tid / GROUP;
        if (is_key) {
          of_query = stats[other];
        }
        let is_seen = select(n * OTHER + other <= t, n * OTHER + other >= t, is_key);
        let p = select(0.0, exp(fma(gathered(s[k]), SCALE, -of_query.x)), is_seen);
        s[k] = spread(p * (gathered(g[k]) - of_query.y));
        g[k] = spread(p);
      }
      for (var k = 0u; k < AT_ONCE; k++) { // unroll
        for (var c = 0u; c < SHARE; c++) { // unroll
          for (var i = 0u; i < SLOTS; i++) { // unroll
            grad_a[i][c] = fma(vec4<f32>(s[k][i]), a[k][c], grad_a[i][c]);
          }
        }
      }
      if (is_key) {
        for (var k = 0u; k < AT_ONCE; k++) { // unroll
          for (var c = 0u; c < SHARE; c++) { // unroll
            for (var i = 0u; i < SLOTS; i++) { // unroll
              grad_b[i][c] = fma(vec4<f32>(g[k][i]), b[k][c], grad_b[i][c]);
            }
          }
        }
      }
    }
  }
  for (var i = 0u; i < SLOTS; i++) { // unroll
    workgroupBarrier();
    for (var c = 0u; c < SHARE; c++) { // unroll
      tile[c * WG + tid] = grad_a[i][c] * SCALE;
      tile[PART_B + c * WG + tid] = grad_b[i][c];
    }
    workgroupBarrier();
    for (var n = 0u; n < MERGES; n++) {
      let e = n * WG + tid;
      let own = first + e % GROUP / 4u * SLOTS + (lane ^ i) % SLOTS;
      let d = lane + e / GROUP % SHARE * 4u;
      let part = select(0u, 1u + e / GROUP / SHARE, is_key);
      if (e / GROUP < select(SHARE, 2u * SHARE, is_key) && own < T && d < D_QUADS) {
        put_part(part, row0 + own, h, d, sum_of_groups(e));
      }
    }
  }
}
