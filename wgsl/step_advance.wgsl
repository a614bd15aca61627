// step_advance: index += 1, the counter of steps in a chunk.
//
// updates index (1) u32
// grid    one thread
// limits  none
// exact   yes
// source  own

@group(0) @binding(0) var<storage, read_write> index: array<u32>;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3<u32>) {
  if (linear_index(gid) == 0u) {
    index[0] += 1u;
  }
}
