// guards: blocks of two operands on their way to workgroup memory, from tiles that may reach past
// the operands' edges. Numbers are fetched one by one, as a row need not begin at a vec4.
//
// needs   M N K; X_IS_KM: x is (K, M); W_IS_NK: w is (N, K); Elem f32; fn operand_x,
//         operand_w(at); lib/staging

const X_LINES: u32 = select(M, K, X_IS_KM);
const X_WIDTH: u32 = select(K, M, X_IS_KM);
const W_LINES: u32 = select(K, N, W_IS_NK);
const W_WIDTH: u32 = select(N, K, W_IS_NK);

// Line and place of the first number of a block of x, in the tile at row m0 and the slice at
// term k0.
fn x_corner(block: u32, m0: u32, k0: u32) -> vec2<u32> {
  if (X_IS_KM) {
    return vec2<u32>(k0 + block / BM4 * 4u, m0 + block % BM4 * 4u);
  }
  return vec2<u32>(m0 + block / BK4 * 4u, k0 + block % BK4 * 4u);
}

fn w_corner(block: u32, n0: u32, k0: u32) -> vec2<u32> {
  if (W_IS_NK) {
    return vec2<u32>(n0 + block / BK4 * 4u, k0 + block % BK4 * 4u);
  }
  return vec2<u32>(k0 + block / BN4 * 4u, n0 + block % BN4 * 4u);
}

// Where four numbers of a line stand; past its end, and past the last line, the last ones.
fn clamped(line: u32, first: u32, lines: u32, width: u32) -> vec4<u32> {
  let place = min(first + vec4<u32>(0u, 1u, 2u, 3u), vec4<u32>(width - 1u));
  return min(line, lines - 1u) * width + place;
}

fn x_numbers(line: u32, first: u32) -> vec4<f32> {
  let at = clamped(line, first, X_LINES, X_WIDTH);
  return vec4<f32>(operand_x(at.x), operand_x(at.y), operand_x(at.z), operand_x(at.w));
}

fn w_numbers(line: u32, first: u32) -> vec4<f32> {
  let at = clamped(line, first, W_LINES, W_WIDTH);
  let numbers = vec4<f32>(operand_w(at.x), operand_w(at.y), operand_w(at.z), operand_w(at.w));
  let k = select(vec4<u32>(line), first + vec4<u32>(0u, 1u, 2u, 3u), W_IS_NK);
  return select(vec4<f32>(), numbers, k < vec4<u32>(K));
}

fn fetch_x(block: u32, m0: u32, k0: u32) {
  let at = x_corner(block, m0, k0);
  let a = x_numbers(at.x, at.y);
  let b = x_numbers(at.x + 1u, at.y);
  let c = x_numbers(at.x + 2u, at.y);
  let d = x_numbers(at.x + 3u, at.y);
  store_x(0u, block, a, b, c, d);
}

// Returns the sum of the block's lines.
fn fetch_w(block: u32, n0: u32, k0: u32) -> vec4<f32> {
  let at = w_corner(block, n0, k0);
  let a = w_numbers(at.x, at.y);
  let b = w_numbers(at.x + 1u, at.y);
  let c = w_numbers(at.x + 2u, at.y);
  let d = w_numbers(at.x + 3u, at.y);
  store_w(0u, block, a, b, c, d);
  return a + b + c + d;
}
