// staged_packed: numbers are rounded to half precision in workgroup memory, two a word, and
// multiplied in full precision; the other choices are staged_f32 and staged_f16.
//
// limits  numbers below 65504, exact to 2^-11 of themselves

alias Staged = vec2<u32>;
alias Quad = vec4<f32>;

fn staged(v: vec4<f32>) -> Staged {
  return Staged(pack2x16float(v.xy), pack2x16float(v.zw));
}

fn quad_of(s: Staged) -> Quad {
  return Quad(unpack2x16float(s.x), unpack2x16float(s.y));
}
