// scalars: a product by quads whose bindings are single numbers; the other choice is xw with
// whole_sums.
//
// needs   N; bindings x and w of f32; fn put(m, n, sum)

const PARTS: u32 = 1u;

fn operand_x(at: u32) -> vec4<f32> {
  return vec4<f32>(x[4u * at], x[4u * at + 1u], x[4u * at + 2u], x[4u * at + 3u]);
}

fn operand_w(at: u32) -> vec4<f32> {
  return vec4<f32>(w[4u * at], w[4u * at + 1u], w[4u * at + 2u], w[4u * at + 3u]);
}

fn leave(part: u32, m: u32, n: u32, sum: vec4<f32>) {
  put(m, 4u * n, sum.x);
  put(m, 4u * n + 1u, sum.y);
  put(m, 4u * n + 2u, sum.z);
  put(m, 4u * n + 3u, sum.w);
}

fn leave_columns(part: u32, n: u32, sum: vec4<f32>) {}
