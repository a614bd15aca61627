// staged_f32: numbers are kept in workgroup memory and multiplied as they are; the other choices
// are staged_packed and staged_f16.

alias Staged = vec4<f32>; // four numbers in workgroup memory
alias Quad = vec4<f32>; // four numbers that are multiplied and summed

fn staged(v: vec4<f32>) -> Staged {
  return v;
}

fn quad_of(s: Staged) -> Quad {
  return s;
}
