// heads4: a quad of a head's row is one element, as in arrays of vec4; the other choice is heads1.
//
// needs   Elem vec4<f32>

const ELEMS_OF_QUAD: u32 = 1u;

// The quad with element c replaced.
fn with_elem(quad: vec4<f32>, c: u32, value: Elem) -> vec4<f32> {
  return value;
}

fn elem_of(quad: vec4<f32>, c: u32) -> Elem {
  return quad;
}
