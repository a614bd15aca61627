// loop_known: the loop's end is a constant, which the compiler proves to be reached.
//
// needs   N ITERS WG; lib/grid; probe/loop

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3<u32>) {
  let i = linear_index(gid);
  if (i >= N) {
    return;
  }
  var a = first_of(i);
  for (var k = 0u; k < ITERS; k++) {
    a = next_of(a, i);
  }
  leave(i, a);
}
