// direct8: a matrix product with 8 x 8 outputs in the registers of one thread.
//
// Thread i computes the outputs of tile (i / TILES_N, i % TILES_N), without workgroup memory.
// Rows and columns past the edge are clamped when loaded (the same number is computed twice)
// and left out when stored.
//
// needs   M N K TILE WG GRID_X; X_IS_KM: x is (K, M); W_IS_NK: w is (N, K); HAS_COLUMNS;
//         Elem f32; fn operand_x, operand_w(at), put(m, n, sum), put_columns(n, sum);
//         lib/alone or lib/members
// limits  none
// source  Goto and van de Geijn 2008, the innermost block

const_assert TILE == 8u; // two vec4 are written out below
const HALF: u32 = TILE / 2u;
const TILES_M: u32 = (M + TILE - 1u) / TILE;
const TILES_N: u32 = (N + TILE - 1u) / TILE;

// Eight rows of an operand at term 0, and how far the next term is.
struct Rows {
  lo: vec4<u32>,
  hi: vec4<u32>,
  step: u32,
}

// Rows `start` on of n; they lie side by side in (K, n), or run along k in (n, K).
fn rows_of(start: u32, n: u32, is_k_first: bool) -> Rows {
  let first = vec4<u32>(start, start + 1u, start + 2u, start + 3u);
  let lo = min(first, vec4<u32>(n - 1u));
  let hi = min(first + HALF, vec4<u32>(n - 1u));
  if (is_k_first) {
    return Rows(lo, hi, n);
  }
  return Rows(lo * K, hi * K, 1u);
}

fn load_x(at: vec4<u32>) -> vec4<f32> {
  return vec4<f32>(operand_x(at.x), operand_x(at.y), operand_x(at.z), operand_x(at.w));
}

fn load_w(at: vec4<u32>) -> vec4<f32> {
  return vec4<f32>(operand_w(at.x), operand_w(at.y), operand_w(at.z), operand_w(at.w));
}

fn put_row(m: u32, n0: u32, lo: vec4<f32>, hi: vec4<f32>) {
  for (var j = 0u; j < HALF; j++) { // unroll
    if (m < M && n0 + j < N) {
      put(m, n0 + j, lo[j]);
    }
    if (m < M && n0 + HALF + j < N) {
      put(m, n0 + HALF + j, hi[j]);
    }
  }
}

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3<u32>) {
  let number = linear_index(gid);
  if (number >= TILES_M * TILES_N * G) {
    return;
  }
  let i = enter(number, TILES_M * TILES_N);
  let m0 = i / TILES_N * TILE;
  let n0 = i % TILES_N * TILE;
  let m = rows_of(m0, M, X_IS_KM);
  let n = rows_of(n0, N, !W_IS_NK);
  var columns_lo = vec4<f32>();
  var columns_hi = vec4<f32>();
  var sum_lo: array<vec4<f32>, TILE>; // row r of the tile is (sum_lo[r], sum_hi[r])
  var sum_hi: array<vec4<f32>, TILE>;
  for (var k = 0u; k < K; k++) {
    let a_lo = load_x(m.lo + k * m.step);
    let a_hi = load_x(m.hi + k * m.step);
    let b_lo = load_w(n.lo + k * n.step);
    let b_hi = load_w(n.hi + k * n.step);
    for (var r = 0u; r < HALF; r++) { // unroll
      sum_lo[r] = fma(vec4<f32>(a_lo[r]), b_lo, sum_lo[r]);
      sum_hi[r] = fma(vec4<f32>(a_lo[r]), b_hi, sum_hi[r]);
      sum_lo[r + HALF] = fma(vec4<f32>(a_hi[r]), b_lo, sum_lo[r + HALF]);
      sum_hi[r + HALF] = fma(vec4<f32>(a_hi[r]), b_hi, sum_hi[r + HALF]);
    }
    if (HAS_COLUMNS) {
      columns_lo += b_lo;
      columns_hi += b_hi;
    }
  }
  for (var r = 0u; r < TILE; r++) { // unroll
    put_row(m0 + r, n0, sum_lo[r], sum_hi[r]);
  }
  if (HAS_COLUMNS && m0 == 0u) {
    for (var j = 0u; j < HALF; j++) { // unroll
      if (n0 + j < N) {
        put_columns(n0 + j, columns_lo[j]);
      }
      if (n0 + HALF + j < N) {
        put_columns(n0 + HALF + j, columns_hi[j]);
      }
    }
  }
}
