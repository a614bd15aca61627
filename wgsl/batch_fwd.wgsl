// batch_fwd: token ids and next tokens of the windows of one step, gathered from the corpus.
//
//   ids[b t] = corpus[offsets[index, b] + t]
//   targets[b t] = corpus[offsets[index, b] + t + 1]
//
// reads   corpus (N) u32  offsets (S, B) u32  index (1) u32
// writes  ids (R) u32  targets (R) u32
// grid    one thread per row, WG threads a workgroup
// limits  offsets at most N - R / B - 1, which the host checks
// exact   yes
// source  own

@group(0) @binding(0) var<storage, read> corpus: array<u32>;
@group(0) @binding(1) var<storage, read> offsets: array<u32>;
@group(0) @binding(2) var<storage, read> index: array<u32>;
@group(0) @binding(3) var<storage, read_write> ids: array<u32>;
@group(0) @binding(4) var<storage, read_write> targets: array<u32>;

const T: u32 = R / B;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3<u32>) {
  let r = linear_index(gid);
  if (r >= R) {
    return;
  }
  let at = offsets[index[0] % S * B + r / T] + r % T;
  ids[r] = corpus[at];
  targets[r] = corpus[at + 1u];
}
