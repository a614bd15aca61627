// attention_cached_fwd: attention of one row t = index % T, whose k and v the cache keeps.
//
//   cache[t] = k, v
//   s[j] = q . k[j] / sqrt D for j <= t
//   y = sum_j exp(s[j]) v[j] / sum_j exp(s[j])
//
// Online softmax: m is the largest score so far, l and acc the sums relative to it.
//
// reads   qkv (1, 3C)  index (1) u32     a row is q, k, v, each of H heads of D
// updates cache (T, 2C)     a row is k, v
// writes  y (1, C)
// grid    one thread per head, WG threads a workgroup
// limits  D numbers a thread in registers or private memory
// exact   sums in order of j: not bit-equal to numpy, see tol in ops/attention.py
// source  Milakov and Gimelshein 2018 (arXiv 1805.02867)

@group(0) @binding(0) var<storage, read> qkv: array<f32>;
@group(0) @binding(1) var<storage, read> index: array<u32>;
@group(0) @binding(2) var<storage, read_write> cache: array<f32>;
@group(0) @binding(3) var<storage, read_write> y: array<f32>;

const D: u32 = C / H;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3<u32>) {
  let i = linear_index(gid);
  if (i >= H) {
    return;
  }
  let head = i * D;
  let t = index[0] % T;
  let scale = 1.0 / sqrt(f32(D));
  var acc: array<f32, D>;
  // the score of the row with itself: finite exponents from the start
  var m = 0.0;
  for (var d = 0u; d < D; d++) {
    let k = qkv[C + head + d];
    let v = qkv[2u * C + head + d];
    cache[t * 2u * C + head + d] = k;
    cache[t * 2u * C + C + head + d] = v;
    m = fma(qkv[head + d] * scale, k, m);
    acc[d] = v;
  }
  var l = 1.0;
  for (var j = 0u; j < T; j++) {
    if (j >= t) {
      break;
    }
    let row = j * 2u * C + head;
    var s = 0.0;
    for (var d = 0u; d < D; d++) {
      s = fma(qkv[head + d] * scale, cache[row + d], s);
    }
    let m_new = max(m, s);
    let rescale = exp(m - m_new);
    let p = exp(s - m_new);
    l = fma(l, rescale, p);
    for (var d = 0u; d < D; d++) {
      acc[d] = fma(acc[d], rescale, p * cache[row + C + d]);
    }
    m = m_new;
  }
  for (var d = 0u; d < D; d++) {
    y[head + d] = acc[d] / l;
  }
}
