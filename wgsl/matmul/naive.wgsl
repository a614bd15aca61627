// naive: a matrix product with one output a thread and every number read from memory.
//
// A workgroup of WG threads makes SIDE x SIDE outputs.
//
// needs   M N K SIDE WG GRID_X; X_IS_KM: x is (K, M); W_IS_NK: w is (N, K); Elem f32;
//         fn operand_x, operand_w(at), put(m, n, sum)
// limits  no sums of columns
// source  the definition

const TILES_N: u32 = (N + SIDE - 1u) / SIDE;
const_assert WG == SIDE * SIDE;

@compute @workgroup_size(WG)
fn main(@builtin(local_invocation_index) thread: u32, @builtin(workgroup_id) group: vec3<u32>) {
  let tile = linear_group(group);
  let m = tile / TILES_N * SIDE + thread / SIDE;
  let n = tile % TILES_N * SIDE + thread % SIDE;
  if (m >= M || n >= N) {
    return;
  }
  var sum = 0.0;
  for (var k = 0u; k < K; k++) {
    let x = operand_x(select(m * K + k, k * M + m, X_IS_KM));
    let w = operand_w(select(k * N + n, n * K + k, W_IS_NK));
    sum = fma(x, w, sum);
  }
  put(m, n, sum);
}
