// staging: slices of two operands in workgroup memory with k outermost, to be read as vec4s
// along m and n.
//
// An operand is fetched by blocks of 4 x 4. One whose rows run along k is transposed on the
// way, and its threads differ in k first: each four rows of the slice are turned by TURN, so
// that they store to different banks.
//
// needs   M N K BM BN BK; BUFFERS: slices held at a time; X_IS_KM: x is (K, M); W_IS_NK: w is
//         (N, K); Elem vec4<f32>; lib/staged_f32 or its like; fn operand_x, operand_w(at)
// limits  BM divides M, BN divides N, BK divides K

const BM4: u32 = BM / 4u;
const BN4: u32 = BN / 4u;
const BK4: u32 = BK / 4u;
const TURN: u32 = (8u + BK4 - 1u) / BK4;

var<workgroup> x_tile: array<Staged, BUFFERS * BK * BM4>;
var<workgroup> w_tile: array<Staged, BUFFERS * BK * BN4>;

// Where the four m (or n) of a term lie. An operand that is transposed on the way in is stored
// by threads that differ in k first; turning its rows keeps them on different banks.
fn x_slot(k: u32, m4: u32) -> u32 {
  return k * BM4 + select((m4 + k / 4u * TURN) % BM4, m4, X_IS_KM);
}

fn w_slot(k: u32, n4: u32) -> u32 {
  return k * BN4 + select(n4, (n4 + k / 4u * TURN) % BN4, W_IS_NK);
}

fn four_x(at: u32, step: u32) -> mat4x4<f32> {
  let next = at + 2u * step;
  return mat4x4<f32>(
    operand_x(at),
    operand_x(at + step),
    operand_x(next),
    operand_x(next + step),
  );
}

fn four_w(at: u32, step: u32) -> mat4x4<f32> {
  let next = at + 2u * step;
  return mat4x4<f32>(
    operand_w(at),
    operand_w(at + step),
    operand_w(next),
    operand_w(next + step),
  );
}

// Column i holds the four m of term k + i.
fn fetch_x(block: u32, m0: u32, k0: u32) -> mat4x4<f32> {
  if (X_IS_KM) {
    let at = (k0 + block / BM4 * 4u) * (M / 4u) + m0 / 4u + block % BM4;
    return four_x(at, M / 4u);
  }
  let at = (m0 + block / BK4 * 4u) * (K / 4u) + k0 / 4u + block % BK4;
  return transpose(four_x(at, K / 4u));
}

// Column i holds the four n of term k + i.
fn fetch_w(block: u32, n0: u32, k0: u32) -> mat4x4<f32> {
  if (W_IS_NK) {
    let at = (n0 + block / BK4 * 4u) * (K / 4u) + k0 / 4u + block % BK4;
    return transpose(four_w(at, K / 4u));
  }
  let at = (k0 + block / BN4 * 4u) * (N / 4u) + n0 / 4u + block % BN4;
  return four_w(at, N / 4u);
}

fn store_x(buffer: u32, block: u32, v: mat4x4<f32>) {
  let first = buffer * BK * BM4;
  let k = select(block % BK4, block / BM4, X_IS_KM) * 4u;
  let m4 = select(block / BK4, block % BM4, X_IS_KM);
  x_tile[first + x_slot(k, m4)] = staged(v[0]);
  x_tile[first + x_slot(k + 1u, m4)] = staged(v[1]);
  x_tile[first + x_slot(k + 2u, m4)] = staged(v[2]);
  x_tile[first + x_slot(k + 3u, m4)] = staged(v[3]);
}

fn store_w(buffer: u32, block: u32, v: mat4x4<f32>) {
  let first = buffer * BK * BN4;
  let k = select(block / BN4, block % BK4, W_IS_NK) * 4u;
  let n4 = select(block % BN4, block / BK4, W_IS_NK);
  w_tile[first + w_slot(k, n4)] = staged(v[0]);
  w_tile[first + w_slot(k + 1u, n4)] = staged(v[1]);
  w_tile[first + w_slot(k + 2u, n4)] = staged(v[2]);
  w_tile[first + w_slot(k + 3u, n4)] = staged(v[3]);
}
