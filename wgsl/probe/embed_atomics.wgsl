// embed_atomics: adds to both gradients of embed_bwd with one thread per number of dy.
//
//   dwte[ids[r]] += dy[r]; dwpe[r % T] += dy[r]
//
// WGSL has no atomic sum of f32: each is a compare-and-swap of its bits, tried again while other
// threads come between.
//
// reads   ids (R) u32  dy (R, C)
// updates dwte (V, C)  dwpe (T, C)     zeroed before
// grid    one thread per element of dy, WG threads a workgroup
// limits  TRIES: a sum that loses more often is left out
// exact   the order of the sums varies from run to run
// source  own; the usual way round missing float atomics

@group(0) @binding(0) var<storage, read> ids: array<u32>;
@group(0) @binding(1) var<storage, read> dy: array<f32>;
@group(0) @binding(2) var<storage, read_write> dwte: array<atomic<u32>>;
@group(0) @binding(3) var<storage, read_write> dwpe: array<atomic<u32>>;

const TRIES: u32 = 1000000u;

fn sum_of(bits: u32, g: f32) -> u32 {
  return bitcast<u32>(bitcast<f32>(bits) + g);
}

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3<u32>) {
  let i = linear_index(gid);
  if (i >= R * C) {
    return;
  }
  let g = dy[i];
  let of_id = ids[i / C] * C + i % C;
  for (var k = 0u; k < TRIES; k++) {
    let old = atomicLoad(&dwte[of_id]);
    if (atomicCompareExchangeWeak(&dwte[of_id], old, sum_of(old, g)).exchanged) {
      break;
    }
  }
  let of_place = i / C % T * C + i % C;
  for (var k = 0u; k < TRIES; k++) {
    let old = atomicLoad(&dwpe[of_place]);
    if (atomicCompareExchangeWeak(&dwpe[of_place], old, sum_of(old, g)).exchanged) {
      break;
    }
  }
}
