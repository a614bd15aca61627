// tiled: a matrix product with one output a thread, by square tiles in workgroup memory.
//
// A workgroup of WG threads makes SIDE x SIDE outputs from slices of SIDE terms, each number
// of which is read once. Past the edges zeros are multiplied.
//
// needs   M N K SIDE WG GRID_X; X_IS_KM: x is (K, M); W_IS_NK: w is (N, K); Elem f32;
//         fn operand_x, operand_w(at), put(m, n, sum)
// limits  no sums of columns
// source  Kirk and Hwu, Programming Massively Parallel Processors, the tiled product

const TILES_M: u32 = (M + SIDE - 1u) / SIDE;
const TILES_N: u32 = (N + SIDE - 1u) / SIDE;
const SLICES: u32 = (K + SIDE - 1u) / SIDE;
const_assert WG == SIDE * SIDE;

var<workgroup> x_tile: array<f32, SIDE * SIDE>;
var<workgroup> w_tile: array<f32, SIDE * SIDE>;

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
    let k_of_x = slice * SIDE + column;
    let k_of_w = slice * SIDE + row;
    var x = 0.0;
    if (m < M && k_of_x < K) {
      x = operand_x(select(m * K + k_of_x, k_of_x * M + m, X_IS_KM));
    }
    var w = 0.0;
    if (k_of_w < K && n < N) {
      w = operand_w(select(k_of_w * N + n, n * K + k_of_w, W_IS_NK));
    }
    workgroupBarrier();
    x_tile[thread] = x;
    w_tile[thread] = w;
    workgroupBarrier();
    for (var k = 0u; k < SIDE; k++) {
      sum = fma(x_tile[row * SIDE + k], w_tile[k * SIDE + column], sum);
    }
  }
  if (m < M && n < N) {
    put(m, n, sum);
  }
}
