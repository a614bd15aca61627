// blocked: a matrix product by tiles in workgroup memory and larger tiles in registers.
//
// A workgroup makes BM x BN outputs from slices of BK terms. Both operands lie in workgroup
// memory with k outermost, so that a thread reads vec4s along m and n; an operand whose rows
// run along k is transposed by 4 x 4 blocks on the way in. A thread holds TM x TN sums, in
// groups of four rows and four columns a tile's width apart, so that neighbours read
// neighbouring vec4s. The next slice is fetched into registers while this one is multiplied.
//
// needs   M N K, BM BN BK TM TN, LANES_M x LANES_N, TILES_M TILES_N GRID_X;
//         X_IS_KM: x is (K, M); W_IS_NK: w is (N, K); x, w: array<vec4<f32>>; fn put(m, n4, v)
// limits  BM divides M, BN divides N, BK divides K
// source  Goto and van de Geijn 2008; layout of fragments as in NVIDIA's CUTLASS

const BM4: u32 = BM / 4u;
const BN4: u32 = BN / 4u;
const BK4: u32 = BK / 4u;
const TURN: u32 = (8u + BK4 - 1u) / BK4;
const TM4: u32 = TM / 4u;
const TN4: u32 = TN / 4u;
const X_BLOCKS: u32 = BM4 * BK4;
const BLOCKS: u32 = X_BLOCKS + BN4 * BK4;
const THREADS: u32 = (BM / TM) * (BN / TN);
const SHARE: u32 = (BLOCKS + THREADS - 1u) / THREADS; // blocks that a thread fetches
const SLICES: u32 = K / BK;
const LANES: u32 = LANES_M * LANES_N; // threads that read together
const WARPS_N: u32 = BN / TN / LANES_N;

var<workgroup> x_tile: array<vec4<f32>, BK * BM4>;
var<workgroup> w_tile: array<vec4<f32>, BK * BN4>;

// Where the four m (or n) of a term lie. An operand that is transposed on the way in is stored
// by threads that differ in k first; turning its rows keeps them on different banks.
fn x_slot(k: u32, m4: u32) -> u32 {
  return k * BM4 + select((m4 + k / 4u * TURN) % BM4, m4, X_IS_KM);
}

fn w_slot(k: u32, n4: u32) -> u32 {
  return k * BN4 + select(n4, (n4 + k / 4u * TURN) % BN4, W_IS_NK);
}

// Column i holds the four m of term k + i.
fn fetch_x(block: u32, m0: u32, k0: u32) -> mat4x4<f32> {
  if (X_IS_KM) {
    let at = (k0 + block / BM4 * 4u) * (M / 4u) + m0 / 4u + block % BM4;
    return mat4x4<f32>(x[at], x[at + M / 4u], x[at + M / 2u], x[at + M / 4u * 3u]);
  }
  let at = (m0 + block / BK4 * 4u) * (K / 4u) + k0 / 4u + block % BK4;
  return transpose(mat4x4<f32>(x[at], x[at + K / 4u], x[at + K / 2u], x[at + K / 4u * 3u]));
}

// Column i holds the four n of term k + i.
fn fetch_w(block: u32, n0: u32, k0: u32) -> mat4x4<f32> {
  if (W_IS_NK) {
    let at = (n0 + block / BK4 * 4u) * (K / 4u) + k0 / 4u + block % BK4;
    return transpose(mat4x4<f32>(w[at], w[at + K / 4u], w[at + K / 2u], w[at + K / 4u * 3u]));
  }
  let at = (k0 + block / BN4 * 4u) * (N / 4u) + n0 / 4u + block % BN4;
  return mat4x4<f32>(w[at], w[at + N / 4u], w[at + N / 2u], w[at + N / 4u * 3u]);
}

fn store_x(block: u32, v: mat4x4<f32>) {
  let k = select(block % BK4, block / BM4, X_IS_KM) * 4u;
  let m4 = select(block / BK4, block % BM4, X_IS_KM);
  x_tile[x_slot(k, m4)] = v[0];
  x_tile[x_slot(k + 1u, m4)] = v[1];
  x_tile[x_slot(k + 2u, m4)] = v[2];
  x_tile[x_slot(k + 3u, m4)] = v[3];
}

fn store_w(block: u32, v: mat4x4<f32>) {
  let k = select(block / BN4, block % BK4, W_IS_NK) * 4u;
  let n4 = select(block % BN4, block / BK4, W_IS_NK);
  w_tile[w_slot(k, n4)] = v[0];
  w_tile[w_slot(k + 1u, n4)] = v[1];
  w_tile[w_slot(k + 2u, n4)] = v[2];
  w_tile[w_slot(k + 3u, n4)] = v[3];
}

@compute @workgroup_size(THREADS)
fn main(@builtin(local_invocation_index) thread: u32, @builtin(workgroup_id) group: vec3<u32>) {
  let tile = group.y * GRID_X + group.x;
  if (tile >= TILES_M * TILES_N) {
    return;
  }
  let m0 = tile / TILES_N * BM;
  let n0 = tile % TILES_N * BN;
  let lane = thread % LANES;
  let warp = thread / LANES;
  let tn = warp % WARPS_N * LANES_N + lane % LANES_N;
  let tm = warp / WARPS_N * LANES_M + lane / LANES_N;
  var sum: array<array<vec4<f32>, TN4>, TM>;
  var next: array<mat4x4<f32>, SHARE>;
  for (var s = 0u; s < SHARE; s++) { // unroll
    let block = thread + s * THREADS;
    if (block < X_BLOCKS) {
      next[s] = fetch_x(block, m0, 0u);
    } else if (block < BLOCKS) {
      next[s] = fetch_w(block - X_BLOCKS, n0, 0u);
    }
  }
  for (var slice = 0u; slice < SLICES; slice++) {
    workgroupBarrier();
    for (var s = 0u; s < SHARE; s++) { // unroll
      let block = thread + s * THREADS;
      if (block < X_BLOCKS) {
        store_x(block, next[s]);
      } else if (block < BLOCKS) {
        store_w(block - X_BLOCKS, next[s]);
      }
    }
    workgroupBarrier();
    if (slice + 1u < SLICES) {
      for (var s = 0u; s < SHARE; s++) { // unroll
        let block = thread + s * THREADS;
        if (block < X_BLOCKS) {
          next[s] = fetch_x(block, m0, (slice + 1u) * BK);
        } else if (block < BLOCKS) {
          next[s] = fetch_w(block - X_BLOCKS, n0, (slice + 1u) * BK);
        }
      }
    }
    for (var k = 0u; k < BK; k++) { // unroll
      var a: array<vec4<f32>, TM4>;
      var b: array<vec4<f32>, TN4>;
      for (var i = 0u; i < TM4; i++) { // unroll
        if (X_IS_KM) {
          a[i] = x_tile[k * BM4 + i * (BM / TM) + tm];
        } else {
          a[i] = x_tile[k * BM4 + (i * (BM / TM) + tm + k / 4u * TURN) % BM4];
        }
      }
      for (var j = 0u; j < TN4; j++) { // unroll
        if (W_IS_NK) {
          b[j] = w_tile[k * BN4 + (j * (BN / TN) + tn + k / 4u * TURN) % BN4];
        } else {
          b[j] = w_tile[k * BN4 + j * (BN / TN) + tn];
        }
      }
      for (var i = 0u; i < TM; i++) { // unroll
        for (var j = 0u; j < TN4; j++) { // unroll
          sum[i][j] = fma(vec4<f32>(a[i / 4u][i % 4u]), b[j], sum[i][j]);
        }
      }
    }
  }
  for (var i = 0u; i < TM; i++) { // unroll
    for (var j = 0u; j < TN4; j++) { // unroll
      let m = m0 + i / 4u * (BM / TM4) + tm * 4u + i % 4u;
      put(m, n0 / 4u + j * (BN / TN) + tn, sum[i][j]);
    }
  }
}
