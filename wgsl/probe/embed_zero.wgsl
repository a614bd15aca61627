// embed_zero: both gradients of embed_bwd are zeroed, for probe/embed_atomics to add to.
//
// writes  dwte (V, C)  dwpe (T, C)
// grid    one thread per element of the larger one, WG threads a workgroup
// limits  none
// exact   yes
// source  own

@group(0) @binding(2) var<storage, read_write> dwte: array<f32>;
@group(0) @binding(3) var<storage, read_write> dwpe: array<f32>;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3<u32>) {
  let i = linear_index(gid);
  if (i < V * C) {
    dwte[i] = 0.0;
  }
  if (i < T * C) {
    dwpe[i] = 0.0;
  }
}
