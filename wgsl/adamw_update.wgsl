// adamw_update: one AdamW step over a flat run of weights.
//
//   scalars[index % S] = lr, c1 = 1 / (1 - beta1^t), c2 = 1 / (1 - beta2^t), 0
//   m' = BETA1 m + (1 - BETA1) g scale
//   v' = BETA2 v + (1 - BETA2) (g scale)^2
//   w' = w - lr (decay w + c1 m' / (sqrt(c2 v') + ADAM_EPS))
//   decay = WEIGHT_DECAY for the first N_DECAY elements, 0 for the rest
//   a negative scale changes nothing
//
// reads   g (N)  scalars (S, 4)  index (1) u32  scale (1)
// updates w (N)  m (N)  v (N)
// grid    one thread per WIDTH numbers, WG threads a workgroup
// limits  N a multiple of WIDTH
// exact   up to the rounding of fma, sqrt and division
// source  Loshchilov and Hutter 2019 (arXiv 1711.05101), algorithm 2, decay times lr

@group(0) @binding(0) var<storage, read> g: array<Elem>;
@group(0) @binding(1) var<storage, read> scalars: array<f32>;
@group(0) @binding(2) var<storage, read> index: array<u32>;
@group(0) @binding(3) var<storage, read> scale: array<f32>;
@group(0) @binding(4) var<storage, read_write> w: array<Elem>;
@group(0) @binding(5) var<storage, read_write> m: array<Elem>;
@group(0) @binding(6) var<storage, read_write> v: array<Elem>;

// rounded once: 1 - f32(0.95) would be 2e-7 away
const REST1: f32 = 1.0 - BETA1;
const REST2: f32 = 1.0 - BETA2;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) gid: vec3<u32>) {
  let i = linear_index(gid);
  if (i >= N / WIDTH) {
    return;
  }
  // all loads first: none waits for another
  let g_0 = g[i];
  let w_0 = w[i];
  let m_0 = m[i];
  let v_0 = v[i];
  let scale_0 = scale[0];
  let at = index[0] % S * 4u;
  let lr = scalars[at];
  let c1 = scalars[at + 1u];
  let c2 = scalars[at + 2u];
  if (scale_0 < 0.0) {
    return;
  }
  let g_i = g_0 * scale_0;
  let m_i = fma(Elem(BETA1), m_0, REST1 * g_i);
  let v_i = fma(Elem(BETA2), v_0, REST2 * (g_i * g_i));
  let decay = select(Elem(), Elem(WEIGHT_DECAY), places(i) < Place(N_DECAY));
  let step = c1 * m_i / (sqrt(c2 * v_i) + ADAM_EPS);
  w[i] = w_0 - lr * fma(decay, w_0, step);
  m[i] = m_i;
  v[i] = v_i;
}
