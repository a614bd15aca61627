// loop: four chains of multiply-adds a thread; how they are repeated is a file of its own.
//
//   four times a = x + k / 4, then a = a / 2 + x; y is their sum after ITERS rounds
//
// reads   x (N)
// writes  y (N)
// grid    one thread per element, WG threads a workgroup
// limits  none
// exact   rounding of the compiler's choice
// source  own

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;

fn first_of(i: u32) -> vec4<f32> {
  return x[i] + vec4<f32>(0.0, 0.25, 0.5, 0.75);
}

fn next_of(a: vec4<f32>, i: u32) -> vec4<f32> {
  return fma(a, vec4<f32>(0.5), vec4<f32>(x[i]));
}

fn leave(i: u32, a: vec4<f32>) {
  y[i] = a.x + a.y + a.z + a.w;
}
