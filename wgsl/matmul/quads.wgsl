// quads: a matrix product without workgroup memory, in which the four threads of a quad pass
// each other the first operand.
//
// A thread makes ROWS rows of four outputs. Of the four terms of a slice it reads all four
// numbers of two rows, and gets those of the other rows from its neighbours.
//
// needs   M N K WG GRID_X; X_IS_KM: x is (K, M); W_IS_NK: w is (N, K); Elem vec4<f32>;
//         the feature subgroups; fn operand_x, operand_w(at), put(m, n, sum)
// limits  M a multiple of 8, N of 16, K of 4; no sums of columns
// source  own; as the subgroup product of ONNX Runtime, which passes rows by broadcast

const QUAD: u32 = 4u;
const ROWS: u32 = 8u;
const N4: u32 = N / 4u;
const K4: u32 = K / 4u;
const TILES: u32 = M / ROWS * N4;

// The four terms from 4 k on, of row m.
fn terms_of_x(m: u32, k: u32) -> vec4<f32> {
  if (X_IS_KM) {
    let at = k * 4u * (M / 4u) + m / 4u;
    let j = m % 4u;
    let step = M / 4u;
    let lo = vec2<f32>(operand_x(at)[j], operand_x(at + step)[j]);
    return vec4<f32>(lo, operand_x(at + 2u * step)[j], operand_x(at + 3u * step)[j]);
  }
  return operand_x(m * K4 + k);
}

// Column i holds the four columns from 4 n on, of term 4 k + i.
fn terms_of_w(k: u32, n: u32) -> mat4x4<f32> {
  let first = select(k * 4u * N4 + n, n * 4u * K4 + k, W_IS_NK);
  let step = select(N4, K4, W_IS_NK);
  let as_read = mat4x4<f32>(
    operand_w(first),
    operand_w(first + step),
    operand_w(first + 2u * step),
    operand_w(first + 3u * step),
  );
  if (W_IS_NK) {
    return transpose(as_read);
  }
  return as_read;
}

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3<u32>) {
  // threads past the end read the last tile, for a quad stays together
  let i = min(linear_index(gid), TILES - 1u);
  let m0 = i / N4 * ROWS;
  let n = i % N4;
  let lane = linear_index(gid) % QUAD;
  var sum: array<vec4<f32>, ROWS>;
  for (var k = 0u; k < K4; k++) {
    let even = terms_of_x(m0 + 2u * lane, k);
    let odd = terms_of_x(m0 + 2u * lane + 1u, k);
    let w = terms_of_w(k, n);
    for (var j = 0u; j < QUAD; j++) { // unroll
      sum[2u * j] += w * quadBroadcast(even, j);
      sum[2u * j + 1u] += w * quadBroadcast(odd, j);
    }
  }
  if (linear_index(gid) < TILES) {
    for (var r = 0u; r < ROWS; r++) { // unroll
      put(m0 + r, n, sum[r]);
    }
  }
}
