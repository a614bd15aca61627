// parts: threads that share the other rows of one quad of a head's row.
//
// needs   lib/flash.wgsl

const MORE_PARTS: u32 = PARTS - 1u;

// The part of the thread of column j; PARTS or more: it has none.
fn part_of(j: u32) -> u32 {
  return select(0u, j / D_QUADS, PARTS > 1u);
}

// The quad of a head's row that is number c of the thread of column j.
fn quad_of(c: u32, j: u32) -> u32 {
  return select(c * OTHER_QUADS + j, j % D_QUADS, PARTS > 1u);
}

// The sum of the parts, for the threads of part 0.
fn joined_parts(acc: Quads, i: u32, j: u32) -> Quads {
  let at = 4u * (i % OWN_QUADS * D_QUADS + j % D_QUADS);
  var o = acc;
  for (var n = 0u; n < MORE_PARTS; n++) {
    workgroupBarrier();
    if (part_of(j) == n + 1u) {
      other_tile[at] = acc.a;
      other_tile[at + 1u] = acc.b;
      other_tile[at + 2u] = acc.c;
      other_tile[at + 3u] = acc.d;
    }
    workgroupBarrier();
    o.a += other_tile[at];
    o.b += other_tile[at + 1u];
    o.c += other_tile[at + 2u];
    o.d += other_tile[at + 3u];
  }
  return o;
}
