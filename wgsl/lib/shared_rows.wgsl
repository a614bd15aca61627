// shared_rows: rows of one head in registers, each shared by the four threads of a quad.
//
// A workgroup owns OWN rows of a head and walks over tiles of OTHER rows of the other kind.
// Thread l of a quad has the quads l, l + 4, ... of SLOTS own rows and works with the same quads
// of the other rows, so that a product of rows is a sum over the quad. GROUP threads have all
// own rows; SPLITS such groups take every SPLITS-th other row each, and in the end the sums of
// one slot after the other are put in workgroup memory, where the groups are summed.
//
// needs   C, H, R, T, OWN, WG, SLOTS; DEPTH: numbers of a row in registers, 0 past D; AT_ONCE:
//         other rows that a thread works with at a time; a binding qkv (R, 3C) of Elem;
//         lib/heads4 or lib/heads1

const D: u32 = C / H;
const D_QUADS: u32 = (D + 3u) / 4u; // the last one may be filled up with zeros
const HEADS: u32 = R / T * H;
const ROW: u32 = DEPTH / 4u;
const SHARE: u32 = ROW / 4u; // quads of a row that a thread has
const GROUP: u32 = 4u * OWN / SLOTS;
const SPLITS: u32 = WG / GROUP;
const OTHER: u32 = WG / 4u;
const STEPS: u32 = OTHER / SPLITS / AT_ONCE;
const OWN_TILES: u32 = (T + OWN - 1u) / OWN;
const OTHER_TILES: u32 = (T + OTHER - 1u) / OTHER;
const PART_B: u32 = OTHER * ROW; // where the second numbers of the other rows begin
const SCALE: f32 = inverseSqrt(f32(D));
const_assert D % WIDTH == 0u && D <= DEPTH && SPLITS * GROUP == WG;
const_assert STEPS * AT_ONCE * SPLITS == OTHER;

var<workgroup> tile: array<vec4<f32>, 2u * PART_B>;

// Where element c of quad d of a head's row stands in a matrix of rows of C.
fn place(r: u32, h: u32, d: u32, c: u32) -> u32 {
  return (r * C + h * D) / WIDTH + d * ELEMS_OF_QUAD + c;
}

// Whether a head's row has that element.
fn is_in(d: u32, c: u32) -> bool {
  return DEPTH == D || d * ELEMS_OF_QUAD + c < D / WIDTH;
}

// Quad d of a head's row: of q, k or v.
fn part_of(part: u32, r: u32, h: u32, d: u32) -> vec4<f32> {
  var quad: vec4<f32>;
  for (var c = 0u; c < ELEMS_OF_QUAD; c++) { // unroll
    let value = qkv[place(3u * r + part, h, d, c)];
    quad = with_elem(quad, c, select(Elem(), value, is_in(d, c)));
  }
  return quad;
}

fn add_dot(sum: f32, a: vec4<f32>, b: vec4<f32>) -> f32 {
  return fma(a.w, b.w, fma(a.z, b.z, fma(a.y, b.y, fma(a.x, b.x, sum))));
}

// The sum over the quad.
fn whole(part: f32) -> f32 {
  let pair = part + quadSwapX(part);
  return pair + quadSwapY(pair);
}

// The sum over the groups of quad e of a slot, of which each thread put its own at c WG + tid.
fn sum_of_groups(e: u32) -> vec4<f32> {
  var sum = vec4<f32>();
  for (var k = 0u; k < SPLITS; k++) {
    sum += tile[(e / GROUP % (2u * SHARE) * SPLITS + k) * GROUP + e % GROUP];
  }
  return sum;
}
