// gelu_fwd: y = x Phi(x), Phi the normal distribution function.
//
// reads   x (R, F)
// writes  y (R, F)
// grid    one thread per four numbers, WG threads a workgroup
// limits  R F a multiple of 4; x of any size
// exact   within 5e-6 relative, see lib/erfc.wgsl
// source  arXiv 1606.08415

@group(0) @binding(0) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read_write> y: array<vec4<f32>>;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3<u32>) {
  let i = linear_index(gid);
  if (i >= R * F / 4u) {
    return;
  }
  let a = x[i];
  let cdf = vec4<f32>(normal_cdf(a.x), normal_cdf(a.y), normal_cdf(a.z), normal_cdf(a.w));
  y[i] = a * cdf;
}
