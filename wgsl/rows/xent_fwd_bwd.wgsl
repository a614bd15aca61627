// xent_fwd_bwd: cross-entropy against the next token, its gradient in place of the logits.
//
//   lse = log sum_v exp logits[v]; loss = lse - logits[target]
//   logits[v] = (exp(logits[v] - lse) - [v = target]) / R
//
// Every lane overwrites the logits that it read, and no other lane reads them: the one that
// holds the target's writes the loss.
//
// reads   targets (R) u32
// updates logits (R, V)
// writes  loss (R)
// grid    LANES threads per row, WG threads a workgroup
// limits  V a multiple of WIDTH
// exact   sums in a tree: not bit-equal to numpy, see tol in ops/xent.py
// source  Milakov and Gimelshein 2018 (arXiv 1805.02867) for sums that move their maximum

@group(0) @binding(0) var<storage, read> targets: array<u32>;
@group(0) @binding(1) var<storage, read_write> logits: array<Elem>;
@group(0) @binding(2) var<storage, read_write> loss: array<f32>;

@compute @workgroup_size(WG)
fn main(
  @builtin(global_invocation_id) gid: vec3<u32>,
  @builtin(local_invocation_index) tid: u32,
) {
  let number = linear_index(gid) / LANES;
  let r = min(number, R - 1u);  // rows past the end: to the barriers, not to the stores
  let lane = tid % LANES;
  var part = NO_EXPS;
  // rows past the end add nothing: the row that they repeat is being overwritten
  for (var k = 0u; k < ROUNDS; k++) {
    let e = k * LANES + lane;
    if (e < ELEMS && number < R) {
      part = add_exps(part, logits[r * ELEMS + e]);
    }
  }
  let lse = log_of(join_lanes(part, tid - lane, 1u, lane));
  if (number >= R) {
    return;
  }
  let target_r = targets[r];
  for (var k = 0u; k < ROUNDS; k++) {
    let e = k * LANES + lane;
    if (e < ELEMS) {
      let old = logits[r * ELEMS + e];
      if (e == target_r / WIDTH) {
        loss[r] = lse - number_at(old, target_r % WIDTH);
      }
      let onehot = select(Elem(), Elem(1.0), places(e) == Place(target_r));
      logits[r * ELEMS + e] = (exp(old - lse) - onehot) / f32(R);
    }
  }
}
