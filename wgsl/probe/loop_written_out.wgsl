// loop_written_out: TURNS rounds stand one after the other in the loop's body.
//
// needs   N ITERS WG TURNS; lib/grid; probe/loop
// limits  TURNS divides ITERS

const BLOCKS: u32 = ITERS / TURNS;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3<u32>) {
  let i = linear_index(gid);
  if (i >= N) {
    return;
  }
  var a = first_of(i);
  for (var block = 0u; block < BLOCKS; block++) {
    for (var k = 0u; k < TURNS; k++) { // unroll
      a = next_of(a, i);
    }
  }
  leave(i, a);
}
