// sum_parts: adds up the parts of a product that was split along its terms.
//
// needs   M N PARTS WG; HAS_COLUMNS; lib/grid, lib/part_sums; fn put(m, n, sum),
//         put_columns(n, sum); lib/alone or lib/members
// limits  N a multiple of WIDTH

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3<u32>) {
  let number = linear_index(gid);
  if (number >= SUMS * G) {
    return;
  }
  let i = enter(number, SUMS);
  let m = i / ELEMS;
  if (m >= select(M, M + 1u, HAS_COLUMNS)) {
    return;
  }
  var sum = Elem();
  for (var part = 0u; part < PARTS; part++) { // unroll
    sum += scratch[(member * PARTS + part) * SUMS + i];
  }
  if (m < M) {
    put(m, i % ELEMS, sum);
  } else {
    put_columns(i % ELEMS, sum);
  }
}
