// tile8: 8 x 8 outputs of a matrix product in the registers of one thread.
//
// Thread i computes the outputs of tile (i / TILES_N, i % TILES_N). Rows and columns past the
// edge are clamped when loaded (the same number is computed twice) and left out when stored.
// The product is written out: an array of accumulators under a loop would live in memory.
//
// needs   M, N, TILE, Y_ADDS, and a binding y (M, N)

const_assert TILE == 8u;  // two vec4 are written out below
const TILES_M: u32 = (M + TILE - 1u) / TILE;
const TILES_N: u32 = (N + TILE - 1u) / TILE;

// The tile: row i is (lo[i], hi[i]).
struct Tile {
  lo: array<vec4<f32>, TILE>,
  hi: array<vec4<f32>, TILE>,
}

// Eight indices, each at most the last one of an axis.
struct Edge {
  lo: vec4<u32>,
  hi: vec4<u32>,
}

fn clamped(start: u32, last: u32) -> Edge {
  let lo = vec4<u32>(start, start + 1u, start + 2u, start + 3u);
  return Edge(min(lo, vec4<u32>(last)), min(lo + 4u, vec4<u32>(last)));
}

// tile += outer product of (a_lo, a_hi) down and (b_lo, b_hi) across
fn add_outer(
  tile: ptr<function, Tile>,
  a_lo: vec4<f32>,
  a_hi: vec4<f32>,
  b_lo: vec4<f32>,
  b_hi: vec4<f32>,
) {
  (*tile).lo[0] = fma(vec4<f32>(a_lo.x), b_lo, (*tile).lo[0]);
  (*tile).hi[0] = fma(vec4<f32>(a_lo.x), b_hi, (*tile).hi[0]);
  (*tile).lo[1] = fma(vec4<f32>(a_lo.y), b_lo, (*tile).lo[1]);
  (*tile).hi[1] = fma(vec4<f32>(a_lo.y), b_hi, (*tile).hi[1]);
  (*tile).lo[2] = fma(vec4<f32>(a_lo.z), b_lo, (*tile).lo[2]);
  (*tile).hi[2] = fma(vec4<f32>(a_lo.z), b_hi, (*tile).hi[2]);
  (*tile).lo[3] = fma(vec4<f32>(a_lo.w), b_lo, (*tile).lo[3]);
  (*tile).hi[3] = fma(vec4<f32>(a_lo.w), b_hi, (*tile).hi[3]);
  (*tile).lo[4] = fma(vec4<f32>(a_hi.x), b_lo, (*tile).lo[4]);
  (*tile).hi[4] = fma(vec4<f32>(a_hi.x), b_hi, (*tile).hi[4]);
  (*tile).lo[5] = fma(vec4<f32>(a_hi.y), b_lo, (*tile).lo[5]);
  (*tile).hi[5] = fma(vec4<f32>(a_hi.y), b_hi, (*tile).hi[5]);
  (*tile).lo[6] = fma(vec4<f32>(a_hi.z), b_lo, (*tile).lo[6]);
  (*tile).hi[6] = fma(vec4<f32>(a_hi.z), b_hi, (*tile).hi[6]);
  (*tile).lo[7] = fma(vec4<f32>(a_hi.w), b_lo, (*tile).lo[7]);
  (*tile).hi[7] = fma(vec4<f32>(a_hi.w), b_hi, (*tile).hi[7]);
}

fn store_tile(tile: ptr<function, Tile>, m0: u32, n0: u32) {
  for (var i = 0u; i < TILE; i++) {
    let m = m0 + i;
    if (m >= M) {
      return;
    }
    for (var j = 0u; j < TILE; j++) {
      let n = n0 + j;
      if (n >= N) {
        break;
      }
      var value = 0.0;
      if (j < 4u) {
        value = (*tile).lo[i][j];
      } else {
        value = (*tile).hi[i][j - 4u];
      }
      if (Y_ADDS) {
        value += y[m * N + n];
      }
      y[m * N + n] = value;
    }
  }
}
