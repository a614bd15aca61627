// fetch: the next tile of other rows, under way to registers while the threads compute.
//
// needs   lib/flash.wgsl, a type Walk and fn other_pair(walk: Walk, t: u32, d: u32) -> Pair

// Quad d of both parts of a row.
struct Pair {
  a: vec4<f32>,
  b: vec4<f32>,
}

alias Fetched = array<Pair, OTHER_LOADS>;

// The tile from row `first` of the window on; rows past the window repeat its last one.
fn fetch_other(walk: Walk, first: u32, tid: u32) -> Fetched {
  var fetched: Fetched;
  for (var n = 0u; n < OTHER_LOADS; n++) {
    let e = n * WG + tid;
    fetched[n] = other_pair(walk, min(first + e / D_QUADS, T - 1u), e % D_QUADS);
  }
  return fetched;
}

fn store_other(fetched: Fetched, tid: u32) {
  for (var n = 0u; n < OTHER_LOADS; n++) {
    let e = n * WG + tid;
    if (e < OTHER * D_QUADS) {
      let at = e / D_QUADS * TILE_ROW + e % D_QUADS;
      other_tile[at] = fetched[n].a;
      other_tile[OTHER_B + at] = fetched[n].b;
    }
  }
}
