// linear_fwd: y = x w + b.
//
//   y[m, n] = b[n] + sum_k x[m, k] w[k, n]
//
// reads   x (M, K)  w (K, N)  b (N)
// writes  y (M, N)
// grid    one thread per tile of 8 x 8 outputs, WG threads a workgroup
// limits  none; any M, N, K
// exact   sums from b on in order of k, with fma: not bit-equal to numpy, see tol in ops/matmul.py
// source  own; register blocking as in Goto and van de Geijn 2008

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read> w: array<f32>;
@group(0) @binding(2) var<storage, read> b: array<f32>;
@group(0) @binding(3) var<storage, read_write> y: array<f32>;

const Y_ADDS: bool = false;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3<u32>) {
  let i = linear_index(gid);
  if (i >= TILES_M * TILES_N) {
    return;
  }
  let m0 = i / TILES_N * TILE;
  let n0 = i % TILES_N * TILE;
  let m = clamped(m0, M - 1u);
  let n = clamped(n0, N - 1u);
  let row_lo = m.lo * K;
  let row_hi = m.hi * K;
  let b_lo = vec4<f32>(b[n.lo.x], b[n.lo.y], b[n.lo.z], b[n.lo.w]);
  let b_hi = vec4<f32>(b[n.hi.x], b[n.hi.y], b[n.hi.z], b[n.hi.w]);
  var tile: Tile;
  for (var j = 0u; j < TILE; j++) {
    tile.lo[j] = b_lo;
    tile.hi[j] = b_hi;
  }
  for (var k = 0u; k < K; k++) {
    let r = row_lo + k;
    let s = row_hi + k;
    let p = n.lo + k * N;
    let q = n.hi + k * N;
    add_outer(
      &tile,
      vec4<f32>(x[r.x], x[r.y], x[r.z], x[r.w]),
      vec4<f32>(x[s.x], x[s.y], x[s.z], x[s.w]),
      vec4<f32>(w[p.x], w[p.y], w[p.z], w[p.w]),
      vec4<f32>(w[q.x], w[q.y], w[q.z], w[q.w]),
    );
  }
  store_tile(&tile, m0, n0);
}
