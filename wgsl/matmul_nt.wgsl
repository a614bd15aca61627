// matmul_nt: y = x w^T, or y += x w^T.
//
//   y[m, n] = sum_k x[m, k] w[n, k]
//
// reads   x (M, K)  w (N, K)
// writes  y (M, N)
// grid    one thread per tile of 8 x 8 outputs, WG threads a workgroup
// limits  none; any M, N, K
// exact   sums in order of k, with fma: not bit-equal to numpy, see tol in ops/matmul.py
// source  own; register blocking as in Goto and van de Geijn 2008

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read> w: array<f32>;
@group(0) @binding(2) var<storage, read_write> y: array<f32>;

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
  let column_lo = n.lo * K;
  let column_hi = n.hi * K;
  var tile: Tile;
  for (var k = 0u; k < K; k++) {
    let a = row_lo + k;
    let b = row_hi + k;
    let p = column_lo + k;
    let q = column_hi + k;
    add_outer(
      &tile,
      vec4<f32>(x[a.x], x[a.y], x[a.z], x[a.w]),
      vec4<f32>(x[b.x], x[b.y], x[b.z], x[b.w]),
      vec4<f32>(w[p.x], w[p.y], w[p.z], w[p.w]),
      vec4<f32>(w[q.x], w[q.y], w[q.z], w[q.w]),
    );
  }
  store_tile(&tile, m0, n0);
}
