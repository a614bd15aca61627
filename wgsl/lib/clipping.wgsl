// clipping: the factor that clips a gradient, or -1 once a run must halt.
//
// needs   GRAD_CLIP, CLIP_EPS

// by the exponent bits: a compiler may take x == x for true
fn is_finite(x: f32) -> bool {
  return (bitcast<u32>(x) & 0x7f800000u) != 0x7f800000u;
}

fn clipping_factor(norm: f32, loss: f32, old: f32) -> f32 {
  if (old < 0.0 || !is_finite(norm) || !is_finite(loss)) {
    return -1.0;
  }
  if (GRAD_CLIP > 0.0) {
    return min(1.0, GRAD_CLIP / (norm + CLIP_EPS));
  }
  return 1.0;
}
