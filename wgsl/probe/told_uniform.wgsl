// told_uniform: the number stands where the binding begins.

@group(0) @binding(1) var<uniform> number: f32;

fn told() -> f32 {
  return number;
}
