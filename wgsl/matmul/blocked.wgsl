// blocked: a matrix product by tiles in workgroup memory and larger tiles in registers.
//
// A workgroup makes BM x BN outputs from slices of BK terms, which lie in workgroup memory with
// k outermost. A thread holds TM x TN sums, in groups of four rows and four columns a tile's
// width apart, so that neighbours read neighbouring vec4s. The next slice is fetched into
// registers while this one is multiplied. Where tiles are few, the terms are split in PARTS.
//
// needs   M N K GRID_X WG; BM BN BK TM TN; BUFFERS: 2 take one barrier a slice, 1 takes two;
//         REFETCHES: the last slice is fetched twice, which saves a branch; LANES_M x LANES_N
//         threads that read together; X_IS_KM: x is (K, M); W_IS_NK: w is (N, K); HAS_COLUMNS;
//         Elem vec4<f32>; fn operand_x, operand_w(at); lib/staging; lib/whole_sums or
//         lib/part_sums; lib/alone or lib/members
// limits  BM divides M, BN divides N, BK PARTS divides K
// source  Goto and van de Geijn 2008; layout of fragments as in NVIDIA's CUTLASS

const TM4: u32 = TM / 4u;
const TN4: u32 = TN / 4u;
const SHARE: u32 = (BLOCKS + WG - 1u) / WG; // blocks that a thread fetches
const SLICES: u32 = K / BK / PARTS;
const TILES_N: u32 = N / BN;
const TILES: u32 = M / BM * TILES_N;
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
  var start: array<u32, SHARE>;
  var next: array<array<vec4<f32>, QUADS>, SHARE>;
  var columns: array<vec4<f32>, SHARE>; // of the second operand's blocks
  for (var s = 0u; s < SHARE; s++) { // unroll
    let block = thread + s * WG;
    if ((s + 1u) * WG <= X_BLOCKS || (s * WG < X_BLOCKS && block < X_BLOCKS)) {
      start[s] = x_quad(block, m0, k0);
      for (var c = 0u; c < QUADS; c++) { // unroll
        next[s][c] = operand_x(start[s] + c * X_STEP);
      }
    } else if ((s + 1u) * WG <= BLOCKS || block < BLOCKS) {
      start[s] = w_quad(block - X_BLOCKS, n0, k0);
      for (var c = 0u; c < QUADS; c++) { // unroll
        next[s][c] = operand_w(start[s] + c * W_STEP);
      }
    }
  }
  for (var slice = 0u; slice < SLICES; slice++) {
    let buffer = slice % BUFFERS;
    if (BUFFERS == 1u) {
      workgroupBarrier();
    }
    for (var s = 0u; s < SHARE; s++) { // unroll
      let block = thread + s * WG;
      if ((s + 1u) * WG <= X_BLOCKS || (s * WG < X_BLOCKS && block < X_BLOCKS)) {
        store_x(buffer, block, next[s][0], next[s][1], next[s][2], next[s][3]);
      } else if ((s + 1u) * WG <= BLOCKS || block < BLOCKS) {
        store_w(buffer, block - X_BLOCKS, next[s][0], next[s][1], next[s][2], next[s][3]);
        if (HAS_COLUMNS) {
          columns[s] += next[s][0] + next[s][1] + next[s][2] + next[s][3];
        }
      }
    }
    workgroupBarrier();
    if (REFETCHES || slice + 1u < SLICES) {
      let ahead = min(slice + 1u, SLICES - 1u);
      for (var s = 0u; s < SHARE; s++) { // unroll
        let block = thread + s * WG;
        if ((s + 1u) * WG <= X_BLOCKS || (s * WG < X_BLOCKS && block < X_BLOCKS)) {
          for (var c = 0u; c < QUADS; c++) { // unroll
            next[s][c] = operand_x(start[s] + ahead * X_SLICE + c * X_STEP);
          }
        } else if ((s + 1u) * WG <= BLOCKS || block < BLOCKS) {
          for (var c = 0u; c < QUADS; c++) { // unroll
            next[s][c] = operand_w(start[s] + ahead * W_SLICE + c * W_STEP);
          }
        }
      }
    }
    for (var k = 0u; k < BK; k++) { // unroll
      let x_row = buffer * BK + select(k % 4u * BK4 + k / 4u, k, X_IS_KM);
      let w_row = buffer * BK + select(k, k % 4u * BK4 + k / 4u, W_IS_NK);
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
    for (var j = 0u; j < TN4; j++) { // unroll
      let m = m0 + i / 4u * (BM / TM4) + tm * 4u + i % 4u;
      leave(part, m, n0 / 4u + j * (BN / TN) + tn, vec4<f32>(sum[i][j]));
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
      leave_columns(part, n0 / 4u + thread, sum_of_blocks(thread));
    }
  }
}
