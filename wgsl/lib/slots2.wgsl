// slots2: two rows that the four threads of a quad share; the other choice is slots4.
//
// Slot x of thread l of a quad is about row (l ^ x) % 2: then what thread l sends to thread
// l ^ x is always in slot x, and no index depends on the thread.

alias Slots = vec2<f32>;
const SLOTS: u32 = 2u;

// The sum over the quad for row l % 2, of parts for the rows of the slots.
fn gathered(part: Slots) -> f32 {
  let pair = part.x + quadSwapX(part.y);
  return pair + quadSwapY(pair);
}

// The numbers of the slots' rows, of the number of row l % 2.
fn spread(own: f32) -> Slots {
  return Slots(own, quadSwapX(own));
}
