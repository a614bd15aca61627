// clip_scale: the gradient norm of a step, into the ring, and the factor that clips it.
//
//   norm = sqrt(sum partial); ring[index % S] = norm
//   scale = min(1, GRAD_CLIP / (norm + CLIP_EPS)), or 1 where GRAD_CLIP is 0
//   scale = -1 where norm or loss[index % S] is not finite, or scale was negative: from the
//   first bad step on adamw_update leaves the weights alone, until the host writes scale
//
// reads   partial (N)  index (1) u32  loss (S)
// updates ring (S)  scale (1)
// grid    one workgroup of WG = LANES threads
// limits  none; any N
// exact   sums in a tree: not bit-equal to numpy, see tol in ops/optim.py
// source  Pascanu, Mikolov, Bengio 2013 (arXiv 1211.5063), algorithm 1

@group(0) @binding(0) var<storage, read> partial: array<f32>;
@group(0) @binding(1) var<storage, read> index: array<u32>;
@group(0) @binding(2) var<storage, read> loss: array<f32>;
@group(0) @binding(3) var<storage, read_write> ring: array<f32>;
@group(0) @binding(4) var<storage, read_write> scale: array<f32>;

const ROUNDS: u32 = (N + LANES - 1u) / LANES;

alias Sum = f32;

fn join(a: Sum, b: Sum) -> Sum {
  return a + b;
}

@compute @workgroup_size(WG)
fn main(
  @builtin(global_invocation_id) gid: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  var part = 0.0;
  for (var k = 0u; k < ROUNDS; k++) {
    let n = k * LANES + lane;
    if (n < N) {
      part += partial[n];
    }
  }
  let norm = sqrt(join_lanes(part, 0u, 1u, lane));
  if (linear_index(gid) != 0u) {
    return;
  }
  // the ring keeps a norm that is not finite, for the host to see
  let at = index[0] % S;
  ring[at] = norm;
  scale[0] = clipping_factor(norm, loss[at], scale[0]);
}
