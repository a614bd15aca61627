// slots4: four rows that the four threads of a quad share; the other choice is slots2.
//
// Slot x of thread l of a quad is about row l ^ x: then what thread l sends to thread l ^ x is
// always in slot x, and no index depends on the thread.

alias Slots = vec4<f32>;
const SLOTS: u32 = 4u;

// The sum over the quad for row l, of parts for the rows of the slots.
fn gathered(part: Slots) -> f32 {
  return (part.x + quadSwapX(part.y)) + quadSwapY(part.z + quadSwapX(part.w));
}

// The numbers of the slots' rows, of the number of row l.
fn spread(own: f32) -> Slots {
  let next = quadSwapX(own);
  return Slots(own, next, quadSwapY(own), quadSwapY(next));
}
