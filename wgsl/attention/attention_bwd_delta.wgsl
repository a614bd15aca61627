// attention_bwd: delta of each query, the first pass.
//
//   scratch[i] = dy[i] . y[i], for every head; nothing else is written
//
// reads   qkv (R, 3C)  y (R, C)  lse (R, H)  dy (R, C)
// writes  dqkv (R, 3C)
// grid    one thread per row and head, WG threads a workgroup
// limits  D a multiple of 4
// exact   up to the order of a sum of D
// source  Dao 2023 (arXiv 2307.08691), algorithm 2, line 4

@group(0) @binding(0) var<storage, read> qkv: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> y: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> lse: array<f32>;
@group(0) @binding(3) var<storage, read> dy: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read_write> dqkv: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read_write> scratch: array<f32>;

const D_QUADS: u32 = C / H / 4u;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3<u32>) {
  let i = linear_index(gid);
  if (i >= R * H) {
    return;
  }
  var sum = vec4<f32>();
  for (var d = 0u; d < D_QUADS; d++) {
    sum = fma(dy[i * D_QUADS + d], y[i * D_QUADS + d], sum);
  }
  scratch[i] = total(sum);
}
