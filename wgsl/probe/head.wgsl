// head: the product of the head, its cross-entropy and the logits' gradient in one kernel.
//
//   logits = x w^T; loss = lse - logits[target]; logits = (exp(logits - lse) - [v = target]) / R
//
// A workgroup makes BM rows of all V logits, which stay in the registers of its threads: LANES
// threads share TM rows of four logits each.
//
// reads   targets (R) u32  x (R, C)  w (V, C)
// writes  logits (R, V)  loss (R)
// grid    one workgroup of WG = BM / TM LANES threads for BM rows
// limits  V = 4 LANES = BN; BM divides R, BK divides C
// exact   sums in a tree: as xent_fwd_bwd
// source  own; the tiles as in matmul/blocked, the sums as in rows/xent_fwd_bwd

@group(0) @binding(0) var<storage, read> targets: array<u32>;
@group(0) @binding(1) var<storage, read> x: array<Elem>;
@group(0) @binding(2) var<storage, read> w: array<Elem>;
@group(0) @binding(3) var<storage, read_write> logits: array<Elem>;
@group(0) @binding(4) var<storage, read_write> loss: array<f32>;

const M: u32 = R;
const N: u32 = V;
const K: u32 = C;
const SLICES: u32 = K / BK;
const SHARE: u32 = (BLOCKS + WG - 1u) / WG;
const_assert V == BN && BN4 == LANES && WG * TM == BM * LANES;

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) tid: u32) {
  let m0 = group.x * BM;
  let lane = tid % LANES;
  let row = tid / LANES * TM;
  var sum: array<vec4<f32>, TM>;
  for (var slice = 0u; slice < SLICES; slice++) {
    workgroupBarrier();
    for (var s = 0u; s < SHARE; s++) { // unroll
      let block = tid + s * WG;
      if (block < X_BLOCKS) {
        let at = x_quad(block, m0, slice * BK);
        store_x(0u, block, x[at], x[at + X_STEP], x[at + 2u * X_STEP], x[at + 3u * X_STEP]);
      } else if (block < BLOCKS) {
        let other = block - X_BLOCKS;
        let at = w_quad(other, 0u, slice * BK);
        store_w(0u, other, w[at], w[at + W_STEP], w[at + 2u * W_STEP], w[at + 3u * W_STEP]);
      }
    }
    workgroupBarrier();
    for (var k = 0u; k < BK; k++) { // unroll
      let term = k % 4u * BK4 + k / 4u;
      let b = w_tile[term * W_ROW + lane];
      for (var i = 0u; i < TM; i++) { // unroll
        let a = x_tile[term * X_ROW + (row + i) / 4u][(row + i) % 4u];
        sum[i] = fma(vec4<f32>(a), b, sum[i]);
      }
    }
  }
  for (var i = 0u; i < TM; i++) { // unroll
    let lse = log_of(join_lanes(add_exps(NO_EXPS, sum[i]), tid - lane, 1u, lane));
    let r = m0 + row + i;
    let target_r = targets[r];
    if (lane == target_r / 4u) {
      loss[r] = lse - sum[i][target_r % 4u];
    }
    let onehot = select(Elem(), Elem(1.0), places(lane) == Place(target_r));
    logits[r * BN4 + lane] = (exp(sum[i] - lse) - onehot) / f32(R);
  }
}
