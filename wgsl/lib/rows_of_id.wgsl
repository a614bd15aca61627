// rows_of_id: which rows have an id, and the sum of those rows of dy.
//
// A workgroup goes through the rows in chunks: every thread compares four ids, then LANES
// threads share the rows found for each column of a strip, four loads at a time.
//
// needs   R C T WG STRIP LANES; bindings ids (R), dy (R, C), dwpe (T, C) of Elem; lib/lanes

alias Sum = Elem;

fn join(a: Sum, b: Sum) -> Sum {
  return a + b;
}

const ELEMS: u32 = C / WIDTH;
const STRIPS: u32 = (ELEMS + STRIP - 1u) / STRIP;
const CHUNK: u32 = 4u * WG;
const CHUNKS: u32 = (R + CHUNK - 1u) / CHUNK;
const NIBBLES: u32 = 8u;  // of a word
const WORDS: u32 = WG / NIBBLES;
const LANE_WORDS: u32 = WORDS / LANES;
const WINDOWS: u32 = R / T;

var<workgroup> nibbles: array<u32, WG>;  // which of a thread's four rows have the id
var<workgroup> words: array<u32, WORDS>;  // the same, 32 rows each

// A bit for each of rows r to r + 3 with id v.
fn nibble_of(r: u32, v: u32) -> u32 {
  let rows = r + vec4<u32>(0u, 1u, 2u, 3u);
  let at = min(rows, vec4<u32>(R - 1u));
  let found = vec4<u32>(ids[at.x], ids[at.y], ids[at.z], ids[at.w]) == vec4<u32>(v);
  let bits = select(vec4<u32>(), vec4<u32>(1u, 2u, 4u, 8u), found & (rows < vec4<u32>(R)));
  return (bits.x | bits.y) | (bits.z | bits.w);
}

// Element e of the first row from r on that has a bit, or 0.
fn first_row(r: u32, left: u32, e: u32) -> Elem {
  if (left == 0u) {
    return Elem();
  }
  return dy[(r + firstTrailingBit(left)) * ELEMS + e];
}

// The sum of element e over the rows from r on whose bit is set.
fn rows_sum(r: u32, word: u32, e: u32) -> Elem {
  var sum = Elem();
  var a = word;
  for (var k = 0u; k < NIBBLES; k++) {
    if (a == 0u) {
      break;
    }
    let b = a & (a - 1u);
    let c = b & (b - 1u);
    let d = c & (c - 1u);
    sum += (first_row(r, a, e) + first_row(r, b, e)) + (first_row(r, c, e) + first_row(r, d, e));
    a = d & (d - 1u);
  }
  return sum;
}

// Put in `words` which rows of a chunk have id v. All threads of the workgroup call it together.
fn find(chunk: u32, v: u32, tid: u32) {
  nibbles[tid] = nibble_of(chunk * CHUNK + 4u * tid, v);
  workgroupBarrier();
  if (tid < WORDS) {
    words[tid] = 0u;
    for (var k = 0u; k < NIBBLES; k++) {
      words[tid] |= nibbles[NIBBLES * tid + k] << (4u * k);
    }
  }
  workgroupBarrier();
}

// For lane 0 the sum of element e over the rows with id v, which are in chunks from `first` on.
// All threads of the workgroup call it together.
fn sum_of_rows(v: u32, first: u32, e: u32, tid: u32) -> Elem {
  let lane = tid / STRIP;
  var part = Elem();
  for (var chunk = 0u; chunk < CHUNKS; chunk++) {
    if (chunk < first) {
      continue;
    }
    find(chunk, v, tid);
    for (var k = 0u; k < LANE_WORDS; k++) {
      let at = k * LANES + lane;
      part += rows_sum(chunk * CHUNK + 32u * at, words[at], min(e, ELEMS - 1u));
    }
  }
  return join_lanes(part, tid % STRIP, STRIP, lane);
}

fn write_dwpe(i: u32) {
  if (i >= T * ELEMS) {
    return;
  }
  var sum = Elem();
  for (var b = 0u; b < WINDOWS; b++) {
    sum += dy[b * T * ELEMS + i];
  }
  if (DWPE_ADDS) {
    sum += dwpe[i];
  }
  dwpe[i] = sum;
}
