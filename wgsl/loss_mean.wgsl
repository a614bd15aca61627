// loss_mean: the mean loss of a step, into the ring at the step's index.
//
//   ring[index % S] = sum_r loss / R
//
// reads   loss (R)  index (1) u32
// updates ring (S)
// grid    one thread
// limits  none; one thread walks over R
// exact   sums of SPAN terms, then their sum, so that rounding does not grow with R: not
//         bit-equal to numpy, see tol in ops/xent.py
// source  own

@group(0) @binding(0) var<storage, read> loss: array<f32>;
@group(0) @binding(1) var<storage, read> index: array<u32>;
@group(0) @binding(2) var<storage, read_write> ring: array<f32>;

const SPAN: u32 = 256u;
const SPANS: u32 = (R + SPAN - 1u) / SPAN;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3<u32>) {
  if (linear_index(gid) != 0u) {
    return;
  }
  var sum = 0.0;
  for (var span = 0u; span < SPANS; span++) {
    var part = 0.0;
    for (var i = 0u; i < SPAN; i++) {
      let r = span * SPAN + i;
      if (r < R) {
        part += loss[r];
      }
    }
    sum += part;
  }
  ring[index[0] % S] = sum / f32(R);
}
