// gelu_bwd: gradient of GELU's input.
//
//   forward: y = x Phi(x)
//   dx = dy (Phi(x) + x phi(x)), phi the normal density
//
// reads   x (R, F)  dy (R, F)
// writes  dx (R, F)
// grid    one thread per Elem, WG threads a workgroup
// limits  none; x of any size
// exact   within 1.5e-5 of the sizes of the terms, see lib/gelu.wgsl
// source  own derivation from arXiv 1606.08415

@group(0) @binding(0) var<storage, read> x: array<Elem>;
@group(0) @binding(1) var<storage, read> dy: array<Elem>;
@group(0) @binding(2) var<storage, read_write> dx: array<Elem>;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3<u32>) {
  let i = linear_index(gid);
  if (i >= R * F / WIDTH) {
    return;
  }
  dx[i] = dy[i] * gelu(x[i]).slope;
}
