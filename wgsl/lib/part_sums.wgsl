// part_sums: a workgroup has summed a part of the terms; matmul/sum_parts adds the parts up.
//
// Scratch holds a matrix of sums for each part of a member, with the sums of columns as its
// last row.
//
// needs   M N PARTS; SCRATCH: its binding; Elem vec4<f32>; lib/alone or lib/members

@group(0) @binding(SCRATCH) var<storage, read_write> scratch: array<Elem>;

const N4: u32 = N / 4u;
const SUMS: u32 = (M + 1u) * N4; // of a part

fn leave(part: u32, m: u32, n: u32, sum: Elem) {
  scratch[(member * PARTS + part) * SUMS + m * N4 + n] = sum;
}

fn leave_columns(part: u32, n: u32, sum: Elem) {
  leave(part, M, n, sum);
}
