// shared_pairs: what attention_bwd reads: (a, b) is (q, dy) of a query and (k, v) of a key.
//
// needs   lib/shared_rows.wgsl, lib/slots*.wgsl, and bindings of Elem y, dy (R, C), dqkv (R, 3C);
//         lse (R, H), scratch (R, H); MAKES_DELTA: delta is not in scratch

const AFTER: f32 = 1e30; // an lse that makes p of a query past the end 0

var<workgroup> stats: array<vec2<f32>, OTHER>; // lse, delta of the queries of a tile

// Quad d of a head's row.
fn dy_of(r: u32, h: u32, d: u32) -> vec4<f32> {
  var quad: vec4<f32>;
  for (var c = 0u; c < ELEMS_OF_QUAD; c++) { // unroll
    quad = with_elem(quad, c, select(Elem(), dy[place(r, h, d, c)], is_in(d, c)));
  }
  return quad;
}

fn y_of(r: u32, h: u32, d: u32) -> vec4<f32> {
  var quad: vec4<f32>;
  for (var c = 0u; c < ELEMS_OF_QUAD; c++) { // unroll
    quad = with_elem(quad, c, select(Elem(), y[place(r, h, d, c)], is_in(d, c)));
  }
  return quad;
}

// Write quad d of a head's row: of dq, dk or dv.
fn put_part(part: u32, r: u32, h: u32, d: u32, quad: vec4<f32>) {
  for (var c = 0u; c < ELEMS_OF_QUAD; c++) { // unroll
    if (is_in(d, c)) {
      dqkv[place(3u * r + part, h, d, c)] = elem_of(quad, c);
    }
  }
}

// delta + quad d of dy . y, where it is made here.
fn add_delta(delta: f32, dy_quad: vec4<f32>, r: u32, h: u32, d: u32) -> f32 {
  if (MAKES_DELTA) {
    return add_dot(delta, dy_quad, y_of(r, h, d));
  }
  return delta;
}

// lse and delta of query t.
fn stats_of(row0: u32, h: u32, t: u32, delta: f32) -> vec2<f32> {
  let at = (row0 + min(t, T - 1u)) * H + h;
  return vec2<f32>(select(AFTER, lse[at], t < T), select(scratch[at], delta, MAKES_DELTA));
}

// Put the others of keys or queries, from row `first` of the window on, in workgroup memory:
// quad for quad of threads a row. All threads of the workgroup call it together.
fn fetch_tile(is_key: bool, row0: u32, h: u32, first: u32, tid: u32) {
  let lane = tid % 4u;
  let quad = tid / 4u;
  let r = row0 + min(first + quad, T - 1u);
  var next_a: array<vec4<f32>, SHARE>;
  var next_b: array<vec4<f32>, SHARE>;
  var delta = 0.0;
  if (is_key) {
    for (var c = 0u; c < SHARE; c++) { // unroll
      next_a[c] = part_of(0u, r, h, lane + 4u * c);
      next_b[c] = dy_of(r, h, lane + 4u * c);
      delta = add_delta(delta, next_b[c], r, h, lane + 4u * c);
    }
  } else {
    for (var c = 0u; c < SHARE; c++) { // unroll
      next_a[c] = part_of(1u, r, h, lane + 4u * c);
      next_b[c] = part_of(2u, r, h, lane + 4u * c);
    }
  }
  let of_query = stats_of(row0, h, first + quad, whole(delta));
  workgroupBarrier(); // whoever still reads the tile before
  for (var c = 0u; c < SHARE; c++) { // unroll
    tile[quad * ROW + lane + 4u * c] = next_a[c];
    tile[PART_B + quad * ROW + lane + 4u * c] = next_b[c];
  }
  if (lane == 0u) {
    stats[quad] = of_query;
  }
  workgroupBarrier();
}
