// grid: the number of a thread in a dispatch that may be two-dimensional.
//
// A dispatch of more than 65535 workgroups is folded into rows of GRID_X workgroups. Threads
// past the end of the work exist in the last workgroup and in the last row: each kernel
// compares the index with its bound.
//
// needs   GRID_X, WG

fn linear_index(gid: vec3<u32>) -> u32 {
  return gid.y * (GRID_X * WG) + gid.x;
}

// The number of a workgroup in such a dispatch; the same for all its threads.
fn linear_group(wid: vec3<u32>) -> u32 {
  return wid.y * GRID_X + wid.x;
}
