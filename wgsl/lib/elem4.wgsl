// elem4: an element of an array is four numbers that follow each other; the other choice is elem1.

alias Elem = vec4<f32>;
alias Place = vec4<u32>;
const WIDTH: u32 = 4u;

// Where the numbers of element i stand in the flat array.
fn places(i: u32) -> Place {
  return 4u * i + vec4<u32>(0u, 1u, 2u, 3u);
}

fn total(e: Elem) -> f32 {
  return (e.x + e.y) + (e.z + e.w);
}

fn largest(e: Elem) -> f32 {
  return max(max(e.x, e.y), max(e.z, e.w));
}

fn number_at(e: Elem, j: u32) -> f32 {
  return e[j];
}
