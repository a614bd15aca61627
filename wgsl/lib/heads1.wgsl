// heads1: a quad of a head's row is four elements, which are read and written one by one, since
// a row need not begin at a vec4; the other choice is heads4.
//
// needs   Elem f32

const ELEMS_OF_QUAD: u32 = 4u;

// The quad with element c replaced.
fn with_elem(quad: vec4<f32>, c: u32, value: Elem) -> vec4<f32> {
  return select(quad, vec4<f32>(value), vec4<u32>(0u, 1u, 2u, 3u) == vec4<u32>(c));
}

fn elem_of(quad: vec4<f32>, c: u32) -> Elem {
  return quad[c];
}
