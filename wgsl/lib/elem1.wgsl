// elem1: an element of an array is one number; the other choice is elem4.

alias Elem = f32;
alias Place = u32;
const WIDTH: u32 = 1u;

// Where the numbers of element i stand in the flat array.
fn places(i: u32) -> Place {
  return i;
}

fn total(e: Elem) -> f32 {
  return e;
}

fn largest(e: Elem) -> f32 {
  return e;
}

fn number_at(e: Elem, j: u32) -> f32 {
  return e;
}
