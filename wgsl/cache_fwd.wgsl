// cache_fwd: the keys and values of each row, for attention_cached_fwd.
//
//   cache[r, c] = qkv[r, C + c]
//
// reads   qkv (R, 3C)     a row is q, k, v, each of H heads of D
// writes  cache (R, 2C)
// grid    one thread per number of cache, WG threads a workgroup
// limits  none
// exact   yes: a copy
// source  own

@group(0) @binding(0) var<storage, read> qkv: array<f32>;
@group(0) @binding(1) var<storage, read_write> cache: array<f32>;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3<u32>) {
  let i = linear_index(gid);
  if (i >= R * 2u * C) {
    return;
  }
  let r = i / (2u * C);
  cache[i] = qkv[i + (r + 1u) * C];
}
