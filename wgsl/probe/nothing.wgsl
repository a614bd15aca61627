// nothing: a dispatch with nothing to do.
//
// writes  y (N)     which it leaves as it is
// grid    one workgroup
// limits  none
// exact   yes
// source  own

@group(0) @binding(0) var<storage, read_write> y: array<f32>;

@compute @workgroup_size(WG)
fn main() {}
