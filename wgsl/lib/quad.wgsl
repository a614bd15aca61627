// quad: four keys or queries of a window at a time, so that what they share is loaded once.
//
// Positions past the end of a range repeat its last one; the caller gives them no weight.
//
// needs   C, T, and a binding qkv (R, 3C)

const ROW: u32 = 3u * C;
const QUADS: u32 = (T + 3u) / 4u;

// Positions 4 n to 4 n + 3.
fn quad_positions(n: u32) -> vec4<u32> {
  return vec4<u32>(4u * n, 4u * n + 1u, 4u * n + 2u, 4u * n + 3u);
}

fn qkv_quad(at: vec4<u32>) -> vec4<f32> {
  return vec4<f32>(qkv[at.x], qkv[at.y], qkv[at.z], qkv[at.w]);
}
