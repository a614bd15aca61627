// told_immediate: the number is encoded with the dispatch.

requires immediate_address_space;

var<immediate> number: f32;

fn told() -> f32 {
  return number;
}
