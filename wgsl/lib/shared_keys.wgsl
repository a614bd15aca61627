// shared_keys: what attention_fwd keeps of its scores, and how it writes a row.
//
// needs   lib/shared_rows.wgsl, and a binding y (R, C) of Elem

const MASKED: f32 = -1e30; // finite: exp(MASKED - m) is 0, and infinity - infinity is not

var<workgroup> stats: array<vec2<f32>, SPLITS * OWN>; // m, l

fn put_y(r: u32, h: u32, d: u32, quad: vec4<f32>) {
  for (var c = 0u; c < ELEMS_OF_QUAD; c++) { // unroll
    if (is_in(d, c)) {
      y[place(r, h, d, c)] = elem_of(quad, c);
    }
  }
}
