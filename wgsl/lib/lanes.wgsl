// lanes: a reduction over LANES threads of a workgroup, in an order that never varies.
//
// A workgroup of WG threads may hold several such rows of lanes: lane l of a row has the slot
// `first + l * step`. Two rounds: RADIX partial results, then one; every lane ends with the
// result. All threads of the workgroup must call it together.
//
// needs   WG, LANES, RADIX, a type Sum and fn join(a: Sum, b: Sum) -> Sum

const_assert LANES % RADIX == 0u && WG % LANES == 0u;
const JOINS_1: u32 = LANES / RADIX - 1u;
const JOINS_2: u32 = RADIX - 1u;

var<workgroup> lane_slots: array<Sum, WG>;

fn join_lanes(value: Sum, first: u32, step: u32, lane: u32) -> Sum {
  workgroupBarrier();  // whoever still reads the slots of the call before
  lane_slots[first + lane * step] = value;
  workgroupBarrier();
  let one = lane % RADIX;
  var part = lane_slots[first + one * step];
  for (var k = 0u; k < JOINS_1; k++) {
    part = join(part, lane_slots[first + (one + (k + 1u) * RADIX) * step]);
  }
  workgroupBarrier();
  lane_slots[first + lane * step] = part;
  workgroupBarrier();
  var result = lane_slots[first];
  for (var k = 0u; k < JOINS_2; k++) {
    result = join(result, lane_slots[first + (k + 1u) * step]);
  }
  return result;
}
