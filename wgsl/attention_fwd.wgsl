// attention_fwd: y = softmax(q k^T / sqrt D) v, causal in each window, for every head.
//
//   s[j] = q . k[j] / sqrt D for j <= t
//   lse = log sum_j exp(s[j]); y = sum_j exp(s[j] - lse) v[j]
//
// Online softmax: m is the largest score so far, l and acc the sums relative to it. Four keys
// at a time; those after t get the weight 0.
//
// reads   qkv (R, 3C)     a row is q, k, v, each of H heads of D
// writes  y (R, C)  lse (R, H)     lse is kept for attention_bwd
// grid    one thread per row and head, WG threads a workgroup
// limits  2 D numbers a thread in registers or private memory
// exact   sums in order of j: not bit-equal to numpy, see tol in ops/attention.py
// source  Milakov and Gimelshein 2018 (arXiv 1805.02867); Dao 2023 (arXiv 2307.08691)

@group(0) @binding(0) var<storage, read> qkv: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@group(0) @binding(2) var<storage, read_write> lse: array<f32>;

const D: u32 = C / H;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3<u32>) {
  let i = linear_index(gid);
  if (i >= R * H) {
    return;
  }
  let r = i / H;
  let head = i % H * D;
  let t = r % T;
  let scale = 1.0 / sqrt(f32(D));
  var q: array<f32, D>;
  var acc: array<f32, D>;
  for (var d = 0u; d < D; d++) {
    q[d] = qkv[r * ROW + head + d] * scale;
  }
  // the score of the row with itself: finite exponents from the start
  var m = 0.0;
  for (var d = 0u; d < D; d++) {
    m = fma(q[d], qkv[r * ROW + C + head + d], m);
  }
  var l = 0.0;
  for (var n = 0u; n < QUADS; n++) {
    let j = quad_positions(n);
    if (j.x > t) {
      break;
    }
    let key = (r - t + min(j, vec4<u32>(t))) * ROW + C + head;
    var s = vec4<f32>();
    for (var d = 0u; d < D; d++) {
      s = fma(vec4<f32>(q[d]), qkv_quad(key + d), s);
    }
    let m_new = max(m, max(max(s.x, s.y), max(s.z, s.w)));
    let rescale = exp(m - m_new);
    let p = select(vec4<f32>(), exp(s - m_new), j <= vec4<u32>(t));
    l = fma(l, rescale, dot(p, vec4<f32>(1.0)));
    for (var d = 0u; d < D; d++) {
      acc[d] = fma(acc[d], rescale, dot(p, qkv_quad(key + C + d)));
    }
    m = m_new;
  }
  for (var d = 0u; d < D; d++) {
    y[r * C + head + d] = acc[d] / l;
  }
  lse[i] = m + log(l);
}
