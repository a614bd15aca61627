// xent_fwd: cross-entropy of each row of logits against its target token.
//
//   lse = log sum_v exp(logits[v])
//   loss = lse - logits[target]
//
// reads   logits (R, V)  targets (R) u32
// writes  loss (R)  lse (R)     lse is kept for xent_bwd
// grid    LANES threads per row, WG threads a workgroup
// limits  targets below V, which the host checks; V a multiple of WIDTH
// exact   sums in a tree: not bit-equal to numpy, see tol in ops/xent.py
// source  Milakov and Gimelshein 2018 (arXiv 1805.02867) for sums that move their maximum

@group(0) @binding(0) var<storage, read> logits: array<Elem>;
@group(0) @binding(1) var<storage, read> targets: array<u32>;
@group(0) @binding(2) var<storage, read_write> loss: array<f32>;
@group(0) @binding(3) var<storage, read_write> lse: array<f32>;

@compute @workgroup_size(WG)
fn main(
  @builtin(global_invocation_id) gid: vec3<u32>,
  @builtin(local_invocation_index) tid: u32,
) {
  let number = linear_index(gid) / LANES;
  let r = min(number, R - 1u);  // rows past the end: to the barriers, not to the stores
  let lane = tid % LANES;
  var part = NO_EXPS;
  for (var k = 0u; k < ROUNDS; k++) {
    let e = k * LANES + lane;
    if (e < ELEMS) {
      part = add_exps(part, logits[r * ELEMS + e]);
    }
  }
  let lse_r = log_of(join_lanes(part, tid - lane, 1u, lane));
  if (number >= R || lane > 0u) {
    return;
  }
  let target_r = targets[r];
  let element = logits[r * ELEMS + target_r / WIDTH];
  lse[r] = lse_r;
  loss[r] = lse_r - number_at(element, target_r % WIDTH);
}
