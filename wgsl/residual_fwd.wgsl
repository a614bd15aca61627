// residual_fwd: y = a + b.
//
// reads   a (R, C)  b (R, C)
// writes  y (R, C)
// grid    one thread per WIDTH numbers, WG threads a workgroup
// limits  R C a multiple of WIDTH
// exact   yes: one addition
// source  own

@group(0) @binding(0) var<storage, read> a: array<Elem>;
@group(0) @binding(1) var<storage, read> b: array<Elem>;
@group(0) @binding(2) var<storage, read_write> y: array<Elem>;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3<u32>) {
  let i = linear_index(gid);
  if (i >= R * C / WIDTH) {
    return;
  }
  y[i] = a[i] + b[i];
}
