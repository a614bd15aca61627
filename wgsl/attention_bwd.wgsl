// attention_bwd: gradients of queries, keys and values; the probabilities are rebuilt from lse.
//
//   forward: s[i, j] = q[i] . k[j] / sqrt D; p = exp(s - lse[i]); y[i] = sum_j p[i, j] v[j]
//   delta[i] = dy[i] . y[i]
//   ds[i, j] = p[i, j] (dy[i] . v[j] - delta[i]) / sqrt D
//   dq[i] = sum_j ds[i, j] k[j]
//   dk[j] = sum_i ds[i, j] q[i]; dv[j] = sum_i p[i, j] dy[i]
//
// The thread of row t makes dq as the query t, over the keys before it, and then dk and dv as
// the key t, over the queries after it: every sum has one owner and one order.
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
const ROW: u32 = 3u * C;

// dy . y of one row and head, `at` being its first element
fn row_delta(at: u32) -> f32 {
  var sum = 0.0;
  for (var d = 0u; d < D; d++) {
    sum = fma(dy[at + d], y[at + d], sum);
  }
  return sum;
}

fn write_dq(r: u32, h: u32) {
  let head = h * D;
  let t = r % T;
  let scale = 1.0 / sqrt(f32(D));
  let lse_r = lse[r * H + h];
  let delta = row_delta(r * C + head);
  var q: array<f32, D>;
  var g: array<f32, D>;
  var dq: array<f32, D>;
  for (var d = 0u; d < D; d++) {
    q[d] = qkv[r * ROW + head + d] * scale;
    g[d] = dy[r * C + head + d];
  }
  for (var j = 0u; j < T; j++) {
    if (j > t) {
      break;
    }
    let key = (r - t + j) * ROW + C + head;
    var s = 0.0;
    var dp = 0.0;
    for (var d = 0u; d < D; d++) {
      s = fma(q[d], qkv[key + d], s);
      dp = fma(g[d], qkv[key + C + d], dp);
    }
    let ds = exp(s - lse_r) * (dp - delta) * scale;
    for (var d = 0u; d < D; d++) {
      dq[d] = fma(ds, qkv[key + d], dq[d]);
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
  var k: array<f32, D>;
  var v: array<f32, D>;
  var dk: array<f32, D>;
  var dv: array<f32, D>;
  let key = r * ROW + C + head;
  for (var d = 0u; d < D; d++) {
    k[d] = qkv[key + d] * scale;
    v[d] = qkv[key + C + d];
  }
  for (var i = 0u; i < T; i++) {
    if (i < t) {
      continue;
    }
    let query = r - t + i;
    let at = query * C + head;
    var s = 0.0;
    var dp = 0.0;
    for (var d = 0u; d < D; d++) {
      s = fma(qkv[query * ROW + head + d], k[d], s);
      dp = fma(dy[at + d], v[d], dp);
    }
    let p = exp(s - lse[query * H + h]);
    let ds = p * (dp - row_delta(at)) * scale;
    for (var d = 0u; d < D; d++) {
      dk[d] = fma(ds, qkv[query * ROW + head + d], dk[d]);
      dv[d] = fma(p, dy[at + d], dv[d]);
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
