// embed_bwd: gradients of both embeddings, written or added.
//
//   forward: y[b t] = wte[ids[b t]] + wpe[t]
//   dwte[v] = sum of dy over the rows with id v
//   dwpe[t] = sum_b dy[b t]
//
// For vocabularies larger than R: a workgroup owns a row and a strip of STRIP columns, and leaves
// if an earlier row has the row's id, else sums that id's rows, see lib/rows_of_id.wgsl: ids
// without a row cost nothing. A pass before, rows/embed_bwd_rest, has done all else.
//
// reads   ids (R) u32  dy (R, C)
// writes  dwte (V, C)  dwpe (T, C)
// grid    R STRIPS workgroups of WG = STRIP LANES threads
// limits  ids below V, which the host checks; C a multiple of WIDTH; reads ids R STRIPS times
// exact   sums in a tree: not bit-equal to numpy, see tol in ops/embed.py
// source  own

@group(0) @binding(0) var<storage, read> ids: array<u32>;
@group(0) @binding(1) var<storage, read> dy: array<Elem>;
@group(0) @binding(2) var<storage, read_write> dwte: array<Elem>;
@group(0) @binding(3) var<storage, read_write> dwpe: array<Elem>;

var<workgroup> is_repeat: bool;

// Put in `is_repeat` whether a row of a chunk before `row` is in `words`.
fn look_back(chunk: u32, row: u32) {
  is_repeat = false;
  for (var at = 0u; at < WORDS; at++) {
    let first = chunk * CHUNK + 32u * at;
    let n = min(row - min(first, row), 32u);
    is_repeat |= n > 0u && words[at] << (32u - n) != 0u;
  }
}

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_index) tid: u32) {
  let group = linear_group(wid);
  if (group >= R * STRIPS) {
    return;
  }
  let row = group / STRIPS;
  let v = ids[row];
  for (var chunk = 0u; chunk < CHUNKS; chunk++) {
    if (chunk > row / CHUNK) {
      break;
    }
    find(chunk, v, tid);
    if (tid == 0u) {
      look_back(chunk, row);
    }
    if (workgroupUniformLoad(&is_repeat)) {
      return;
    }
  }
  let e = group % STRIPS * STRIP + tid % STRIP;
  let sum = sum_of_rows(v, row / CHUNK, e, tid);
  if (tid < STRIP && e < ELEMS) {
    dwte[v * ELEMS + e] += sum;
  }
}
