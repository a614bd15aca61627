// xent_bwd: gradient of the mean cross-entropy with respect to the logits.
//
//   forward: the mean over rows of lse - logits[target]
//   dlogits[r, v] = (exp(logits[r, v] - lse[r]) - (v == targets[r])) / R
//
// reads   logits (R, V)  targets (R) u32  lse (R)
// writes  dlogits (R, V)
// grid    one thread per WIDTH logits, WG threads a workgroup
// limits  targets below V, which the host checks; V a multiple of WIDTH
// exact   up to the rounding of exp
// source  own

@group(0) @binding(0) var<storage, read> logits: array<Elem>;
@group(0) @binding(1) var<storage, read> targets: array<u32>;
@group(0) @binding(2) var<storage, read> lse: array<f32>;
@group(0) @binding(3) var<storage, read_write> dlogits: array<Elem>;

const ELEMS: u32 = V / WIDTH;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3<u32>) {
  let i = linear_index(gid);
  if (i >= R * ELEMS) {
    return;
  }
  let r = i / ELEMS;
  let is_target = places(i % ELEMS) == Place(targets[r]);
  let onehot = select(Elem(), Elem(1.0), is_target);
  dlogits[i] = (exp(logits[i] - lse[r]) - onehot) / f32(R);
}
