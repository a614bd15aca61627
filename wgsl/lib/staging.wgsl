// staging: slices of two operands in workgroup memory with k outermost, to be read as vec4s
// along m and n.
//
// An operand is fetched by blocks of 4 x 4, as four quads a STEP apart. One whose rows run along
// k is transposed on the way, and its threads differ in k first: so that they store to different
// banks, its terms lie in the order 0 4 8 .. 1 5 9 .., in rows that are longer by PAD quads.
// Remainders in the stores change no index: they prove to the compiler that none leaves its tile.
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
const X_SLICE: u32 = BK4 * select(1u, M, X_IS_KM); // quads from one slice to the next
const W_SLICE: u32 = BK4 * select(N, 1u, W_IS_NK);

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

fn store_x(buffer: u32, block: u32, a: vec4<f32>, b: vec4<f32>, c: vec4<f32>, d: vec4<f32>) {
  let row = buffer % BUFFERS * BK;
  if (X_IS_KM) {
    let at = (row + block / BM4 % BK4 * 4u) * X_ROW + block % BM4;
    x_tile[at] = staged(a);
    x_tile[at + X_ROW] = staged(b);
    x_tile[at + 2u * X_ROW] = staged(c);
    x_tile[at + 3u * X_ROW] = staged(d);
  } else {
    let at = (row + block % BK4) * X_ROW + block / BK4 % BM4;
    x_tile[at] = staged(vec4<f32>(a.x, b.x, c.x, d.x));
    x_tile[at + BK4 * X_ROW] = staged(vec4<f32>(a.y, b.y, c.y, d.y));
    x_tile[at + 2u * BK4 * X_ROW] = staged(vec4<f32>(a.z, b.z, c.z, d.z));
    x_tile[at + 3u * BK4 * X_ROW] = staged(vec4<f32>(a.w, b.w, c.w, d.w));
  }
}

fn store_w(buffer: u32, block: u32, a: vec4<f32>, b: vec4<f32>, c: vec4<f32>, d: vec4<f32>) {
  let row = buffer % BUFFERS * BK;
  if (W_IS_NK) {
    let at = (row + block % BK4) * W_ROW + block / BK4 % BN4;
    w_tile[at] = staged(vec4<f32>(a.x, b.x, c.x, d.x));
    w_tile[at + BK4 * W_ROW] = staged(vec4<f32>(a.y, b.y, c.y, d.y));
    w_tile[at + 2u * BK4 * W_ROW] = staged(vec4<f32>(a.z, b.z, c.z, d.z));
    w_tile[at + 3u * BK4 * W_ROW] = staged(vec4<f32>(a.w, b.w, c.w, d.w));
  } else {
    let at = (row + block / BN4 % BK4 * 4u) * W_ROW + block % BN4;
    w_tile[at] = staged(a);
    w_tile[at + W_ROW] = staged(b);
    w_tile[at + 2u * W_ROW] = staged(c);
    w_tile[at + 3u * W_ROW] = staged(d);
  }
}

// The sum over a column of blocks of w, each of which has put one quad at its own number.
fn sum_of_blocks(n4: u32) -> vec4<f32> {
  var sum = vec4<f32>();
  for (var k = 0u; k < BK4; k++) {
    sum += vec4<f32>(quad_of(w_tile[k * BN4 + n4]));
  }
  return sum;
}
