// guarded: a matrix product of any sizes by tiles in workgroup memory and larger tiles in
// registers.
//
// As matmul/blocked, for sizes that its tiles do not divide: outputs past M and N are left out
// when they are stored, and lib/guards fetches zeros of w past K. Nothing is fetched ahead, and
// terms are a loop, for short code. Where tiles are few, the terms are split in PARTS.
//
// needs   M N K GRID_X WG; BM BN BK TM TN; LANES_M x LANES_N threads that read together; BUFFERS
//         1; X_IS_KM: x is (K, M); W_IS_NK: w is (N, K); HAS_COLUMNS; Elem f32; lib/staging;
//         lib/guards; lib/whole_sums or lib/part_sums; lib/alone or lib/members
// limits  none
// source  Goto and van de Geijn 2008; layout of fragments as in NVIDIA's CUTLASS

const TM4: u32 = TM / 4u;
const TN4: u32 = TN / 4u;
const SHARE: u32 = (BLOCKS + WG - 1u) / WG; // blocks that a thread fetches
const SLICES: u32 = (K + BK * PARTS - 1u) / (BK * PARTS); // of a part
const TILES_N: u32 = (N + BN - 1u) / BN;
const TILES: u32 = (M + BM - 1u) / BM * TILES_N;
const_assert WG == (BM / TM) * (BN / TN);
const LANES: u32 = LANES_M * LANES_N; // threads that read together
const WARPS_N: u32 = BN / TN / LANES_N;

@compute @workgroup_size(WG)
fn main(@builtin(local_invocation_index) thread: u32, @builtin(workgroup_id) group: vec3<u32>) {
  let number = group.y * GRID_X + group.x;
  if (number >= TILES * PARTS * G) {
    return;
  }
  let share = enter(number, TILES * PARTS);
  let tile = share % TILES;
  let part = share / TILES;
  let k0 = part * SLICES * BK;
  let m0 = tile / TILES_N * BM;
  let n0 = tile % TILES_N * BN;
  let lane = thread % LANES;
  let warp = thread / LANES;
  let tn = warp % WARPS_N * LANES_N + lane % LANES_N;
  let tm = warp / WARPS_N * LANES_M + lane / LANES_N;
  var sum: array<array<Quad, TN4>, TM>;
  var columns: array<vec4<f32>, SHARE>; // of the second operand's blocks
  for (var slice = 0u; slice < SLICES; slice++) {
    workgroupBarrier();
    for (var s = 0u; s < SHARE; s++) { // unroll
      let block = thread + s * WG;
      if ((s + 1u) * WG <= X_BLOCKS || (s * WG < X_BLOCKS && block < X_BLOCKS)) {
        fetch_x(block, m0, k0 + slice * BK);
      } else if ((s + 1u) * WG <= BLOCKS || block < BLOCKS) {
        let lines = fetch_w(block - X_BLOCKS, n0, k0 + slice * BK);
        if (HAS_COLUMNS) {
          columns[s] += lines;
        }
      }
    }
    workgroupBarrier();
    for (var k = 0u; k < BK; k++) {
      let x_row = select(k % 4u * BK4 + k / 4u, k, X_IS_KM);
      let w_row = select(k, k % 4u * BK4 + k / 4u, W_IS_NK);
      var a: array<Quad, TM4>;
      var b: array<Quad, TN4>;
      for (var i = 0u; i < TM4; i++) { // unroll
        a[i] = quad_of(x_tile[x_row * X_ROW + i * (BM / TM) + tm]);
      }
      for (var j = 0u; j < TN4; j++) { // unroll
        b[j] = quad_of(w_tile[w_row * W_ROW + j * (BN / TN) + tn]);
      }
      for (var i = 0u; i < TM; i++) { // unroll
        for (var j = 0u; j < TN4; j++) { // unroll
          sum[i][j] = fma(Quad(a[i / 4u][i % 4u]), b[j], sum[i][j]);
        }
      }
    }
  }
  for (var i = 0u; i < TM; i++) { // unroll
    let m = m0 + i / 4u * (BM / TM4) + tm * 4u + i % 4u;
    for (var j = 0u; j < TN4; j++) { // unroll
      let n = n0 + (j * (BN / TN) + tn) * 4u;
      for (var c = 0u; c < QUADS; c++) { // unroll
        if (m < M && n + c < N) {
          leave(part, m, n + c, sum[i][j][c]);
        }
      }
    }
  }
  if (HAS_COLUMNS && m0 == 0u) {
    workgroupBarrier();
    for (var s = 0u; s < SHARE; s++) { // unroll
      let block = thread + s * WG;
      if (block >= X_BLOCKS && block < BLOCKS) {
        w_tile[block - X_BLOCKS] = staged(columns[s]);
      }
    }
    workgroupBarrier();
    if (thread < BN4) {
      let sums = sum_of_blocks(thread);
      for (var c = 0u; c < QUADS; c++) { // unroll
        if (n0 + thread * 4u + c < N) {
          leave_columns(part, n0 + thread * 4u + c, sums[c]);
        }
      }
    }
  }
}
