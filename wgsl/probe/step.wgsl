// step: y += the number that the host tells for this step; how it is told is a file of its own.
//
// updates y (WG)
// grid    one workgroup
// exact   sums of whole numbers
// source  own

@group(0) @binding(0) var<storage, read_write> y: array<f32>;

@compute @workgroup_size(WG)
fn main(@builtin(local_invocation_index) i: u32) {
  y[i] += told();
}
