// residual_fwd: y = a + b.
//
// reads   a (R, C)  b (R, C)
// writes  y (R, C)
// grid    one thread per element, WG threads a workgroup
// limits  none
// exact   yes: one addition
// source  own

@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read> b: array<f32>;
@group(0) @binding(2) var<storage, read_write> y: array<f32>;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3<u32>) {
  let i = linear_index(gid);
  if (i >= R * C) {
    return;
  }
  y[i] = a[i] + b[i];
}
