// staged_f16: numbers are rounded to half precision, and multiplied and summed in it; the other
// choices are staged_f32 and staged_packed.
//
// needs   the extension f16
// limits  numbers and sums below 65504; each sum is rounded to 2^-11 of itself

alias Staged = vec4<f16>;
alias Quad = vec4<f16>;

fn staged(v: vec4<f32>) -> Staged {
  return Staged(v);
}

fn quad_of(s: Staged) -> Quad {
  return s;
}
