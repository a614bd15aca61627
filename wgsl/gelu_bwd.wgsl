// gelu_bwd: gradient of GELU's input.
//
//   forward: y = x Phi(x)
//   dx = dy (Phi(x) + x phi(x)), phi the normal density
//
// reads   x (R, F)  dy (R, F)
// writes  dx (R, F)
// grid    one thread per element, WG threads a workgroup
// limits  none; x of any size
// exact   within 5e-6 relative, see lib/erfc.wgsl
// source  own derivation from arXiv 1606.08415

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read> dy: array<f32>;
@group(0) @binding(2) var<storage, read_write> dx: array<f32>;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3<u32>) {
  let i = linear_index(gid);
  if (i >= R * F) {
    return;
  }
  let x_i = x[i];
  dx[i] = dy[i] * fma(x_i, normal_density(x_i), normal_cdf(x_i));
}
