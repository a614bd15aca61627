// loop_guarded: the loop's end comes from memory, so that the compiler adds a counter that ends
// loops without an end.
//
// needs   N ITERS WG; lib/grid; probe/loop

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3<u32>) {
  let i = linear_index(gid);
  if (i >= N) {
    return;
  }
  let end = select(ITERS, 1u, x[0] > 1e30);
  var a = first_of(i);
  for (var k = 0u; k < end; k++) {
    a = next_of(a, i);
  }
  leave(i, a);
}
