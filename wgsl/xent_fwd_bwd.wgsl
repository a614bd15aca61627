// xent_fwd_bwd: cross-entropy against the next token, its gradient in place of the logits.
//
//   lse = log sum_v exp logits[v]; loss = lse - logits[target]
//   logits[v] = (exp(logits[v] - lse) - [v = target]) / R
//
// reads   targets (R) u32
// updates logits (R, V)
// writes  loss (R)
// grid    one thread per row, WG threads a workgroup
// limits  none; any V
// exact   sums in order of v: not bit-equal to numpy, see tol in ops/xent.py
// source  the gradient of log softmax, as in Bridle 1990

@group(0) @binding(0) var<storage, read> targets: array<u32>;
@group(0) @binding(1) var<storage, read_write> logits: array<f32>;
@group(0) @binding(2) var<storage, read_write> loss: array<f32>;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3<u32>) {
  let r = linear_index(gid);
  if (r >= R) {
    return;
  }
  let row = r * V;
  // subtract the row maximum: exp stays <= 1. A NaN logit may not win the maximum, but its
  // own exp makes the sum NaN
  var m = logits[row];
  for (var v = 0u; v < V; v++) {
    m = max(m, logits[row + v]);
  }
  var sum = 0.0;
  for (var v = 0u; v < V; v++) {
    sum += exp(logits[row + v] - m);
  }
  let lse = m + log(sum);
  loss[r] = lse - logits[row + targets[r]];
  for (var v = 0u; v < V; v++) {
    let onehot = select(0.0, 1.0, v == targets[r]);
    logits[row + v] = (exp(logits[row + v] - lse) - onehot) / f32(R);
  }
}
