// part_sums: a workgroup has summed a part of the terms; matmul/sum_parts adds the parts up.
//
// Scratch holds a matrix of sums for each part of a member, with the sums of columns as its
// last row.
//
// needs   M N PARTS; SCRATCH: its binding; Elem, WIDTH; lib/alone or lib/members

@group(0) @binding(SCRATCH) var<storage, read_write> scratch: array<Elem>;

const ELEMS: u32 = N / WIDTH;
const SUMS: u32 = (M + 1u) * ELEMS; // of a part

fn leave(part: u32, m: u32, n: u32, sum: Elem) {
  scratch[(member * PARTS + part) * SUMS + m * ELEMS + n] = sum;
}

fn leave_columns(part: u32, n: u32, sum: Elem) {
  leave(part, M, n, sum);
}
