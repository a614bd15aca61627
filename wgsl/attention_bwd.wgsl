// attention_bwd: gradients of queries, keys and values; the probabilities are rebuilt from lse.
//
//   forward: s[i, j] = q[i] . k[j] / sqrt D; p = exp(s - lse[i]); y[i] = sum_j p[i, j] v[j]
//   delta[i] = dy[i] . y[i]
//   ds[i, j] = p[i, j] (dy[i] . v[j] - delta[i]) / sqrt D
//   dq[i] = sum_j ds[i, j] k[j]
//   dk[j] = sum_i ds[i, j] q[i]; dv[j] = sum_i p[i, j] dy[i]
//
// The thread of row t makes dq as the query t, over the keys before it, and then dk and dv as
// the key t, over the queries after it: every sum has one owner and one order. Four of the
// others at a time; those outside the range get p = 0.
//
// reads   qkv (R, 3C)  y (R, C)  lse (R, H)  dy (R, C)
// writes  dqkv (R, 3C)
// grid    one thread per row and head, WG threads a workgroup
// limits  4 D numbers a thread in registers or private memory
// exact   sums in order of j, then of i: not bit-equal to numpy, see tol in ops/attention.py
// source  Dao 2023 (arXiv 2307.08691), algorithm 2

@group(0) @binding(0) var<storage, read> qkv: array<f32>;
@group(0) @binding(1) var<storage, read> y: array<f32>;
@group(0) @binding(2) var<storage, read> lse: array<f32>;
@group(0) @binding(3) var<storage, read> dy: array<f32>;
@group(0) @binding(4) var<storage, read_write> dqkv: array<f32>;

const D: u32 = C / H;

fn dy_quad(at: vec4<u32>) -> vec4<f32> {
  return vec4<f32>(dy[at.x], dy[at.y], dy[at.z], dy[at.w]);
}

fn y_quad(at: vec4<u32>) -> vec4<f32> {
  return vec4<f32>(y[at.x], y[at.y], y[at.z], y[at.w]);
}

fn lse_quad(at: vec4<u32>) -> vec4<f32> {
  return vec4<f32>(lse[at.x], lse[at.y], lse[at.z], lse[at.w]);
}

fn write_dq(r: u32, h: u32) {
  let head = h * D;
  let t = r % T;
  let scale = 1.0 / sqrt(f32(D));
  let lse_r = lse[r * H + h];
  var q: array<f32, D>;
  var g: array<f32, D>;
  var dq: array<f32, D>;
  var delta = 0.0;
  for (var d = 0u; d < D; d++) {
    q[d] = qkv[r * ROW + head + d] * scale;
    g[d] = dy[r * C + head + d];
    delta = fma(g[d], y[r * C + head + d], delta);
  }
  for (var n = 0u; n < QUADS; n++) {
    let j = quad_positions(n);
    if (j.x > t) {
      break;
    }
    let key = (r - t + min(j, vec4<u32>(t))) * ROW + C + head;
    var s = vec4<f32>();
    var dp = vec4<f32>();
    for (var d = 0u; d < D; d++) {
      s = fma(vec4<f32>(q[d]), qkv_quad(key + d), s);
      dp = fma(vec4<f32>(g[d]), qkv_quad(key + C + d), dp);
    }
    let p = select(vec4<f32>(), exp(s - lse_r), j <= vec4<u32>(t));
    let ds = p * (dp - delta) * scale;
    for (var d = 0u; d < D; d++) {
      dq[d] += dot(ds, qkv_quad(key + d));
    }
  }
  for (var d = 0u; d < D; d++) {
    dqkv[r * ROW + head + d] = dq[d];
  }
}

fn write_dk_dv(r: u32, h: u32) {
  let head = h * D;
  let t = r % T;
  let scale = 1.0 / sqrt(f32(D));
  let key = r * ROW + C + head;
  var k: array<f32, D>;
  var v: array<f32, D>;
  var dk: array<f32, D>;
  var dv: array<f32, D>;
  for (var d = 0u; d < D; d++) {
    k[d] = qkv[key + d] * scale;
    v[d] = qkv[key + C + d];
  }
  for (var n = 0u; n < QUADS; n++) {
    let i = quad_positions(n);
    if (i.w < t) {
      continue;
    }
    let row = r - t + min(i, vec4<u32>(T - 1u));
    let query = row * ROW + head;
    let at = row * C + head;
    var s = vec4<f32>();
    var dp = vec4<f32>();
    var delta = vec4<f32>();
    for (var d = 0u; d < D; d++) {
      let g = dy_quad(at + d);
      s = fma(vec4<f32>(k[d]), qkv_quad(query + d), s);
      dp = fma(vec4<f32>(v[d]), g, dp);
      delta = fma(y_quad(at + d), g, delta);
    }
    let is_after = (i >= vec4<u32>(t)) & (i < vec4<u32>(T));
    let p = select(vec4<f32>(), exp(s - lse_quad(row * H + h)), is_after);
    let ds = p * (dp - delta) * scale;
    for (var d = 0u; d < D; d++) {
      dk[d] += dot(ds, qkv_quad(query + d));
      dv[d] += dot(p, dy_quad(at + d));
    }
  }
  for (var d = 0u; d < D; d++) {
    dqkv[key + d] = dk[d];
    dqkv[key + C + d] = dv[d];
  }
}

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3<u32>) {
  let i = linear_index(gid);
  if (i >= R * H) {
    return;
  }
  write_dq(i / H, i % H);
  write_dk_dv(i / H, i % H);
}
