// flash: products of tiles of attention rows, 4 x 4 numbers a thread.
//
// Thread (i, j) of OWN_QUADS x OTHER_QUADS owns, of a tile of OWN rows against OTHER rows, the
// rows i, i + OWN_QUADS, ... and the columns j, j + OTHER_QUADS, ...: neighbours read
// neighbouring rows, and the odd row length of the tiles keeps them on different banks.
//
// Tiles of own rows, of other rows and of scores hold one part or two, one behind the other.
//
// needs   C, H, R, T, OWN, OTHER, WG, and OWN_PARTS, SCORE_PARTS: parts of these tiles

const_assert OWN % 4u == 0u && OTHER % 4u == 0u && WG == OWN * OTHER / 16u;
const OWN_QUADS: u32 = OWN / 4u;
const OTHER_QUADS: u32 = OTHER / 4u;
const D: u32 = C / H;
const D_QUADS: u32 = D / 4u;
const TILE_ROW: u32 = D_QUADS + 1u;
const SCORE_ROW: u32 = OTHER_QUADS + 1u;
// quads of a head's row that a thread owns: j, j + OTHER_QUADS, ...
const OWNED: u32 = (D_QUADS + OTHER_QUADS - 1u) / OTHER_QUADS;
// where rows have fewer quads than there are threads, these share the other rows in parts
const SPARE: u32 = OTHER_QUADS / D_QUADS;
const PARTS: u32 = select(select(1u, 2u, SPARE >= 2u), 4u, SPARE >= 4u);
const PART_QUADS: u32 = OTHER_QUADS / PARTS;
const OWN_TILES: u32 = (T + OWN - 1u) / OWN;
const OTHER_TILES: u32 = (T + OTHER - 1u) / OTHER;
const OWN_LOADS: u32 = (OWN * D_QUADS + WG - 1u) / WG;
const OTHER_LOADS: u32 = (OTHER * D_QUADS + WG - 1u) / WG;
const QKV_ROW: u32 = 3u * C / 4u;
const HEADS: u32 = R / T * H;
const OWN_B: u32 = OWN * TILE_ROW;  // where the second part begins
const OTHER_B: u32 = OTHER * TILE_ROW;
const SCORE_B: u32 = OWN * SCORE_ROW;
const OWN_LAST: u32 = (OWN_PARTS - 1u) * OWN_B;
const SCORE_LAST: u32 = (SCORE_PARTS - 1u) * SCORE_B;

var<workgroup> own_tile: array<vec4<f32>, OWN_PARTS * OWN_B>;
var<workgroup> other_tile: array<vec4<f32>, 2u * OTHER_B>;
var<workgroup> score_tile: array<vec4<f32>, SCORE_PARTS * SCORE_B>;

struct Quads {
  a: vec4<f32>,
  b: vec4<f32>,
  c: vec4<f32>,
  d: vec4<f32>,
}

// acc + x^T y, y of four rows
fn add_product(acc: vec4<f32>, x: vec4<f32>, y: Quads) -> vec4<f32> {
  let ab = fma(vec4<f32>(x.y), y.b, fma(vec4<f32>(x.x), y.a, acc));
  return fma(vec4<f32>(x.w), y.d, fma(vec4<f32>(x.z), y.c, ab));
}

// The bounds below change no index: they prove to the compiler that none leaves its tile, which
// spares a clamp at every load.

// Quad d of the four other rows j, j + OTHER_QUADS, ...
fn other_rows(part: u32, j: u32, d: u32) -> Quads {
  let at = min(part, OTHER_B) + j % OTHER_QUADS * TILE_ROW + d % D_QUADS;
  return Quads(
    other_tile[at],
    other_tile[at + OTHER_QUADS * TILE_ROW],
    other_tile[at + 2u * OTHER_QUADS * TILE_ROW],
    other_tile[at + 3u * OTHER_QUADS * TILE_ROW],
  );
}

fn transposed(y: Quads) -> Quads {
  return Quads(
    vec4<f32>(y.a.x, y.b.x, y.c.x, y.d.x),
    vec4<f32>(y.a.y, y.b.y, y.c.y, y.d.y),
    vec4<f32>(y.a.z, y.b.z, y.c.z, y.d.z),
    vec4<f32>(y.a.w, y.b.w, y.c.w, y.d.w),
  );
}

// Thread (i, j)'s products of own rows with other rows: a quad for each own row.
fn scores_of(own_part: u32, other_part: u32, i: u32, j: u32) -> Quads {
  var s = Quads();
  for (var d = 0u; d < D_QUADS; d++) {
    let other = transposed(other_rows(other_part, j, d));
    let at = min(own_part, OWN_LAST) + i % OWN_QUADS * TILE_ROW + d;
    s.a = add_product(s.a, own_tile[at], other);
    s.b = add_product(s.b, own_tile[at + OWN_QUADS * TILE_ROW], other);
    s.c = add_product(s.c, own_tile[at + 2u * OWN_QUADS * TILE_ROW], other);
    s.d = add_product(s.d, own_tile[at + 3u * OWN_QUADS * TILE_ROW], other);
  }
  return s;
}

fn store_scores(part: u32, i: u32, j: u32, s: Quads) {
  let at = min(part, SCORE_LAST) + i % OWN_QUADS * SCORE_ROW + j % OTHER_QUADS;
  score_tile[at] = s.a;
  score_tile[at + OWN_QUADS * SCORE_ROW] = s.b;
  score_tile[at + 2u * OWN_QUADS * SCORE_ROW] = s.c;
  score_tile[at + 3u * OWN_QUADS * SCORE_ROW] = s.d;
}

// acc + scores times other rows of this thread's part, for quad d of a head's row.
fn add_weighted(acc: Quads, score_part: u32, other_part: u32, i: u32, j: u32, d: u32) -> Quads {
  var o = acc;
  for (var n = 0u; n < PART_QUADS; n++) {
    let k = part_of(j) % PARTS * PART_QUADS + n;
    let other = other_rows(other_part, k, d);
    let at = min(score_part, SCORE_LAST) + i % OWN_QUADS * SCORE_ROW + k;
    o.a = add_product(o.a, score_tile[at], other);
    o.b = add_product(o.b, score_tile[at + OWN_QUADS * SCORE_ROW], other);
    o.c = add_product(o.c, score_tile[at + 2u * OWN_QUADS * SCORE_ROW], other);
    o.d = add_product(o.d, score_tile[at + 3u * OWN_QUADS * SCORE_ROW], other);
  }
  return o;
}
