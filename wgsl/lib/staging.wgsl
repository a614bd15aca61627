// staging: slices of two operands in workgroup memory with k outermost, to be read as vec4s
// along m and n.
//
// An operand is fetched by blocks of 4 x 4, as four quads a STEP apart. One whose rows run along
// k is transposed on the way, and its threads differ in k first: so that they store to different
// banks, its terms lie in the order 0 4 8 .. 1 5 9 .., in rows that are longer by PAD quads.
// Whoever stores and reads writes the place out: through a function Tint cannot prove an index.
//
// needs   M N K BM BN BK; BUFFERS: slices held at a time; X_IS_KM: x is (K, M); W_IS_NK: w is
//         (N, K); lib/staged_f32 or its like
// limits  BM divides M, BN divides N, BK divides K

const QUADS: u32 = 4u; // of a block
const BM4: u32 = BM / 4u;
const BN4: u32 = BN / 4u;
const BK4: u32 = BK / 4u;
const X_BLOCKS: u32 = BM4 * BK4;
const BLOCKS: u32 = X_BLOCKS + BN4 * BK4;
const PAD: u32 = (8u + BK4 - 1u) / BK4;
const X_ROW: u32 = BM4 + PAD * u32(!X_IS_KM);
const W_ROW: u32 = BN4 + PAD * u32(W_IS_NK);
const X_STEP: u32 = select(K, M, X_IS_KM) / 4u;
const W_STEP: u32 = select(N, K, W_IS_NK) / 4u;

var<workgroup> x_tile: array<Staged, BUFFERS * BK * X_ROW>;
var<workgroup> w_tile: array<Staged, BUFFERS * BK * W_ROW>;

// The first quad of a block of x, in the tile at row m0 and the slice at term k0.
fn x_quad(block: u32, m0: u32, k0: u32) -> u32 {
  if (X_IS_KM) {
    return (k0 + block / BM4 * 4u) * X_STEP + m0 / 4u + block % BM4;
  }
  return (m0 + block / BK4 * 4u) * X_STEP + k0 / 4u + block % BK4;
}

// The first quad of a block of w, in the tile at column n0 and the slice at term k0.
fn w_quad(block: u32, n0: u32, k0: u32) -> u32 {
  if (W_IS_NK) {
    return (n0 + block / BK4 * 4u) * W_STEP + k0 / 4u + block % BK4;
  }
  return (k0 + block / BN4 * 4u) * W_STEP + n0 / 4u + block % BN4;
}
