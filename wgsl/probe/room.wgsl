// room: neighbours swap a number through ROOM numbers of workgroup memory, of which they use WG.
//
//   y[i] = x[j], j the next thread of the workgroup
//
// Each 32 threads use banks of their own, and the groups of 32 lie as far apart as they can.
//
// reads   x (N)
// writes  y (N)
// grid    one thread per element, WG threads a workgroup
// limits  WG divides N and ROOM
// exact   bit-equal
// source  own

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;

const STEP: u32 = ROOM / WG * 32u;

var<workgroup> room: array<f32, ROOM>;

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) tid: u32) {
  let i = linear_group(group) * WG + tid;
  if (linear_group(group) < N / WG) {
    room[tid / 32u * STEP + tid % 32u] = x[i];
  }
  workgroupBarrier();
  let next = (tid + 1u) % WG;
  if (linear_group(group) < N / WG) {
    y[i] = room[next / 32u * STEP + next % 32u];
  }
}
