// copy: how many bytes a second the device's memory moves.
//
// reads   x (N)
// writes  y (N)
// grid    one thread for four elements
// limits  N divides by four
// exact   bit-equal
// source  our own

@group(0) @binding(0) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read_write> y: array<vec4<f32>>;

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
  let n = (group.y * GRID_X + group.x) * WG + thread;
  if (n < N / 4u) {
    y[n] = x[n];
  }
}
