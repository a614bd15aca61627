// bias_bwd: gradient of a bias, written or added.
//
//   forward: y = x w + b
//   db[n] = sum_m dy[m, n]
//
// reads   dy (M, N)
// writes  db (N)
// grid    one thread per column, WG threads a workgroup
// limits  none; any M, N
// exact   sums in order of m: not bit-equal to numpy, see tol in ops/matmul.py
// source  own

@group(0) @binding(0) var<storage, read> dy: array<f32>;
@group(0) @binding(1) var<storage, read_write> db: array<f32>;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3<u32>) {
  let n = linear_index(gid);
  if (n >= N) {
    return;
  }
  var sum = 0.0;
  for (var m = 0u; m < M; m++) {
    sum += dy[m * N + n];
  }
  if (DB_ADDS) {
    sum += db[n];
  }
  db[n] = sum;
}
