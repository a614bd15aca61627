// sqnorm_fwd: partial sums of squares of a flat gradient.
//
//   partial[p] = sum of g[i]^2 over i = p, p + P, p + 2 P, ...
//
// reads   g (N)
// writes  partial (P)
// grid    one thread per partial sum, WG threads a workgroup
// limits  none; any N, P
// exact   sums in order of i, with fma: not bit-equal to numpy, see tol in ops/optim.py
// source  own

@group(0) @binding(0) var<storage, read> g: array<f32>;
@group(0) @binding(1) var<storage, read_write> partial: array<f32>;

const ROUNDS: u32 = (N + P - 1u) / P;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3<u32>) {
  let p = linear_index(gid);
  if (p >= P) {
    return;
  }
  var sum = 0.0;
  for (var k = 0u; k < ROUNDS; k++) {
    let i = k * P + p;
    if (i < N) {
      sum = fma(g[i], g[i], sum);
    }
  }
  partial[p] = sum;
}
