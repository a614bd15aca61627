// tiled_packed: the product of matmul/tiled with both operands rounded to half precision in
// workgroup memory, two terms a word; sums stay in full precision.
//
// A slice has twice the terms in the same memory, and half the barriers.
//
// needs   M N K SIDE WG GRID_X; X_IS_KM: x is (K, M); W_IS_NK: w is (N, K); Elem f32;
//         fn operand_x, operand_w(at), put(m, n, sum)
// limits  no sums of columns; operands below 65504, and exact to 2^-11 of themselves
// source  own; packing as in the pack2x16float of WGSL

const TILES_M: u32 = (M + SIDE - 1u) / SIDE;
const TILES_N: u32 = (N + SIDE - 1u) / SIDE;
const TERMS: u32 = 2u * SIDE; // of a slice
const SLICES: u32 = (K + TERMS - 1u) / TERMS;
const_assert WG == SIDE * SIDE;

var<workgroup> x_tile: array<u32, SIDE * SIDE>;
var<workgroup> w_tile: array<u32, SIDE * SIDE>;

fn x_at(m: u32, k: u32) -> f32 {
  if (m >= M || k >= K) {
    return 0.0;
  }
  return operand_x(select(m * K + k, k * M + m, X_IS_KM));
}

fn w_at(k: u32, n: u32) -> f32 {
  if (k >= K || n >= N) {
    return 0.0;
  }
  return operand_w(select(k * N + n, n * K + k, W_IS_NK));
}

@compute @workgroup_size(WG)
fn main(@builtin(local_invocation_index) thread: u32, @builtin(workgroup_id) group: vec3<u32>) {
  let tile = linear_group(group);
  if (tile >= TILES_M * TILES_N) {
    return;
  }
  let row = thread / SIDE;
  let column = thread % SIDE;
  let m = tile / TILES_N * SIDE + row;
  let n = tile % TILES_N * SIDE + column;
  var sum = 0.0;
  for (var slice = 0u; slice < SLICES; slice++) {
    let k_of_x = slice * TERMS + 2u * column;
    let k_of_w = slice * TERMS + 2u * row;
    let x = pack2x16float(vec2<f32>(x_at(m, k_of_x), x_at(m, k_of_x + 1u)));
    let w = pack2x16float(vec2<f32>(w_at(k_of_w, n), w_at(k_of_w + 1u, n)));
    workgroupBarrier();
    x_tile[thread] = x;
    w_tile[thread] = w;
    workgroupBarrier();
    for (var k = 0u; k < SIDE; k++) {
      let a = unpack2x16float(x_tile[row * SIDE + k]);
      let b = unpack2x16float(w_tile[k * SIDE + column]);
      sum = fma(a.y, b.y, fma(a.x, b.x, sum));
    }
  }
  if (m < M && n < N) {
    put(m, n, sum);
  }
}
