// xent_fwd: cross-entropy of each row of logits against its target token.
//
//   lse = log sum_v exp(logits[v])
//   loss = lse - logits[target]
//
// reads   logits (R, V)  targets (R) u32
// writes  loss (R)  lse (R)     lse is kept for xent_bwd
// grid    one thread per row, WG threads a workgroup
// limits  targets below V, which the host checks
// exact   sums in order of v: not bit-equal to numpy, see tol in ops/xent.py
// source  own

@group(0) @binding(0) var<storage, read> logits: array<f32>;
@group(0) @binding(1) var<storage, read> targets: array<u32>;
@group(0) @binding(2) var<storage, read_write> loss: array<f32>;
@group(0) @binding(3) var<storage, read_write> lse: array<f32>;

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
  let lse_r = m + log(sum);
  lse[r] = lse_r;
  loss[r] = lse_r - logits[row + targets[r]];
}
