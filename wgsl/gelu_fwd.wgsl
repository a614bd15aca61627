// gelu_fwd: y = x Phi(x), Phi the normal distribution function.
//
// reads   x (R, F)
// writes  y (R, F)
// grid    one thread per Elem, WG threads a workgroup
// limits  none; x of any size
// exact   within 1.5e-5 relative, see lib/gelu.wgsl
// source  Hendrycks and Gimpel 2016 (arXiv 1606.08415), the erf form

@group(0) @binding(0) var<storage, read> x: array<Elem>;
@group(0) @binding(1) var<storage, read_write> y: array<Elem>;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3<u32>) {
  let i = linear_index(gid);
  if (i >= R * F / WIDTH) {
    return;
  }
  y[i] = gelu(x[i]).y;
}
