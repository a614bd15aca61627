// walk: what a workgroup of attention_bwd loads, and the scores' gradients that it makes of it.
//
// needs   C, H, T, OWN, OTHER, WG, lib/flash.wgsl, lib/fetch.wgsl, and bindings qkv (R, 3C) and
//         dy (R, C) of quads, lse (R, H), scratch (R, H) with delta

const C_QUADS: u32 = C / 4u;
const STATS: u32 = max(OWN, OTHER);
const_assert STATS <= WG;

var<workgroup> stats: array<vec2<f32>, STATS>;  // lse, delta of the queries

// What a workgroup is about.
struct Walk {
  is_key: bool,  // whether its own rows are keys
  row0: u32,  // first row of the window
  h: u32,
}

// Element d of a of a row: q of a query, k of a key.
fn a_of(walk: Walk, is_key: bool, t: u32, d: u32) -> vec4<f32> {
  let part = select(0u, C_QUADS, is_key);
  return qkv[(walk.row0 + t) * QKV_ROW + part + walk.h * D_QUADS + d];
}

// Element d of b of a row: dy of a query, v of a key.
fn b_of(walk: Walk, is_key: bool, t: u32, d: u32) -> vec4<f32> {
  if (is_key) {
    return qkv[(walk.row0 + t) * QKV_ROW + 2u * C_QUADS + walk.h * D_QUADS + d];
  }
  return dy[(walk.row0 + t) * C_QUADS + walk.h * D_QUADS + d];
}

fn load_own(walk: Walk, first: u32, tid: u32) {
  let scale = 1.0 / sqrt(f32(D));
  for (var n = 0u; n < OWN_LOADS; n++) {
    let e = n * WG + tid;
    if (e < OWN * D_QUADS) {
      let t = min(first + e / D_QUADS, T - 1u);
      let at = e / D_QUADS * TILE_ROW + e % D_QUADS;
      own_tile[at] = a_of(walk, walk.is_key, t, e % D_QUADS) * scale;
      own_tile[OWN_B + at] = b_of(walk, walk.is_key, t, e % D_QUADS);
    }
  }
}

// a and b of a row of the other kind.
fn other_pair(walk: Walk, t: u32, d: u32) -> Pair {
  return Pair(a_of(walk, !walk.is_key, t, d), b_of(walk, !walk.is_key, t, d));
}

// lse and delta of a query.
fn fetch_stats(walk: Walk, t: u32) -> vec2<f32> {
  let at = (walk.row0 + min(t, T - 1u)) * H + walk.h;
  return vec2<f32>(lse[at], scratch[at]);
}

// p and ds of one own row against four other rows; st holds lse and delta of the queries.
struct Row {
  p: vec4<f32>,
  ds: vec4<f32>,
}

fn row_of(is_key: bool, own: u32, other: vec4<u32>, s: vec4<f32>, dp: vec4<f32>, st: Row) -> Row {
  let is_after = (other >= vec4<u32>(own)) & (other < vec4<u32>(T));
  let is_seen = select(other <= vec4<u32>(own), is_after, is_key);
  let p = select(vec4<f32>(), exp(s - st.p), is_seen);
  return Row(p, p * (dp - st.ds) * (1.0 / sqrt(f32(D))));
}

// The statistics that row n of a thread needs: its own, or those of the four other rows.
fn stats_of(is_key: bool, own: u32, j: u32) -> Row {
  if (!is_key) {
    return Row(vec4<f32>(stats[own % OWN].x), vec4<f32>(stats[own % OWN].y));
  }
  let first = j % OTHER_QUADS;
  let a = stats[first];
  let b = stats[first + OTHER_QUADS];
  let c = stats[first + 2u * OTHER_QUADS];
  let d = stats[first + 3u * OTHER_QUADS];
  return Row(vec4<f32>(a.x, b.x, c.x, d.x), vec4<f32>(a.y, b.y, c.y, d.y));
}
