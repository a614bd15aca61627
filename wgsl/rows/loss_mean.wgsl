// loss_mean: the mean loss of a step, into the ring at the step's index.
//
//   ring[index % S] = sum_r loss / R
//
// reads   loss (R)  index (1) u32
// updates ring (S)
// grid    one workgroup of WG = LANES threads
// limits  none; any R
// exact   sums in a tree: not bit-equal to numpy, see tol in ops/xent.py
// source  own

@group(0) @binding(0) var<storage, read> loss: array<f32>;
@group(0) @binding(1) var<storage, read> index: array<u32>;
@group(0) @binding(2) var<storage, read_write> ring: array<f32>;

const ROUNDS: u32 = (R + LANES - 1u) / LANES;

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
    let r = k * LANES + lane;
    if (r < R) {
      part += loss[r];
    }
  }
  let sum = join_lanes(part, 0u, 1u, lane);
  if (linear_index(gid) == 0u) {
    ring[index[0] % S] = sum / f32(R);
  }
}
