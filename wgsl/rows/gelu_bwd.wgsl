// gelu_bwd: gradient of GELU's input.
//
//   forward: y = x Phi(x)
//   dx = dy (Phi(x) + x phi(x)), phi the normal density
//
// reads   x (R, F)  dy (R, F)
// writes  dx (R, F)
// grid    one thread per four numbers, WG threads a workgroup
// limits  R F a multiple of 4; x of any size
// exact   within 5e-6 relative, see lib/erfc.wgsl
// source  own derivation from arXiv 1606.08415

@group(0) @binding(0) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> dy: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> dx: array<vec4<f32>>;

fn slope(a: f32) -> f32 {
  return fma(a, normal_density(a), normal_cdf(a));
}

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3<u32>) {
  let i = linear_index(gid);
  if (i >= R * F / 4u) {
    return;
  }
  let a = x[i];
  dx[i] = dy[i] * vec4<f32>(slope(a.x), slope(a.y), slope(a.z), slope(a.w));
}
