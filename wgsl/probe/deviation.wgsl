// deviation: how far the output of a row is from that of the base row, and then spoils it.
//
//   found[t] = max |got[i] - wanted[i]|, found[THREADS + t] = max |wanted[i]|: i = t mod THREADS
//   got[i] = before[i], or SPOILT where RESTORES is 0: an element that the next row does not
//   write is seen
//
// An element that is no number counts as SPOILT.
//
// reads   before (N)  wanted (N)
// updates got (N)
// writes  found (P)
// grid    THREADS = P / 2 threads, WG a workgroup
// limits  P a multiple of 2 WG; N is the length of the bindings: one kernel serves all sizes
// exact   maxima: bit-equal
// source  own

@group(0) @binding(0) var<storage, read> before: array<f32>;
@group(0) @binding(1) var<storage, read> wanted: array<f32>;
@group(0) @binding(2) var<storage, read_write> got: array<f32>;
@group(0) @binding(3) var<storage, read_write> found: array<f32>;

const SPOILT: f32 = 3e38;
const EXPONENT: u32 = 0x7f800000u; // all ones where a float is no number
const THREADS: u32 = P / 2u;
const MAX_ROUNDS: u32 = 0xffffffffu / THREADS;

fn is_number(value: f32) -> bool {
  return (bitcast<u32>(value) & EXPONENT) != EXPONENT;
}

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3<u32>) {
  let thread = linear_index(gid);
  if (thread >= THREADS) {
    return;
  }
  var error = 0.0;
  var largest = 0.0;
  for (var round = 0u; round < MAX_ROUNDS; round++) {
    let i = round * THREADS + thread;
    if (i >= arrayLength(&got)) {
      break;
    }
    let is_right = is_number(got[i]) && is_number(wanted[i]);
    error = max(error, select(SPOILT, abs(got[i] - wanted[i]), is_right));
    largest = max(largest, select(0.0, abs(wanted[i]), is_number(wanted[i])));
    got[i] = select(SPOILT, before[i], RESTORES != 0u);
  }
  found[thread] = error;
  found[THREADS + thread] = largest;
}
