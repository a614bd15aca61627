// residual_bwd: da = dy and db = dy, each written or added.
//
//   forward: y = a + b
//
// reads   dy (R, C)
// writes  da (R, C)  db (R, C)
// grid    one thread per WIDTH numbers, WG threads a workgroup
// limits  R C a multiple of WIDTH
// exact   yes: at most one addition
// source  own

@group(0) @binding(0) var<storage, read> dy: array<Elem>;
@group(0) @binding(1) var<storage, read_write> da: array<Elem>;
@group(0) @binding(2) var<storage, read_write> db: array<Elem>;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3<u32>) {
  let i = linear_index(gid);
  if (i >= R * C / WIDTH) {
    return;
  }
  let g = dy[i];
  if (DA_ADDS) {
    da[i] += g;
  } else {
    da[i] = g;
  }
  if (DB_ADDS) {
    db[i] += g;
  } else {
    db[i] = g;
  }
}
