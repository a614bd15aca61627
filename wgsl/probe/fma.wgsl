// fma: how many multiply-adds a second the device's registers give.
//
//   each thread: eight chains of vec4, ITERS times a = a * x + x
//
// writes  y (N)
// grid    one thread for each element of y
// limits  none
// exact   its result is of no use; it keeps the work from being left out
// source  our own

@group(0) @binding(0) var<storage, read_write> y: array<f32>;

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
  let n = (group.y * GRID_X + group.x) * WG + thread;
  let x = vec4<f32>(0.9, 0.8, 0.7, 0.6) + f32(n % 7u) * 0.01;
  var a = x;
  var b = x + 0.1;
  var c = x + 0.2;
  var d = x + 0.3;
  var e = x + 0.4;
  var f = x + 0.5;
  var g = x + 0.6;
  var h = x + 0.7;
  for (var k = 0u; k < ITERS; k++) {
    a = fma(a, x, x);
    b = fma(b, x, x);
    c = fma(c, x, x);
    d = fma(d, x, x);
    e = fma(e, x, x);
    f = fma(f, x, x);
    g = fma(g, x, x);
    h = fma(h, x, x);
  }
  let sum = a + b + c + d + e + f + g + h;
  if (n < N) {
    y[n] = sum.x + sum.y + sum.z + sum.w;
  }
}
