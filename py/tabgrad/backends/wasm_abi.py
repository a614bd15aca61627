"""How a plan is written for the C++ engine: once, as a run of 64-bit words.

    head      MAGIC, CONTRACT, bytes of the arena, byte from which it is shared scratch,
              bytes of scratch a thread
    programs  their number, then for each: word where its calls start, their number
    calls     op, adds, a byte offset into the arena per argument, a value per constant

Sizes and counts are unsigned integers, other constants float64. `OPS` gives the
order of ops, arguments and constants, to this file and to the C++ header that
`wasm_header` generates. CONTRACT is a hash of that order, so that an engine of
another build refuses the plan.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tabgrad.ops import OPS, Call, Op
from tabgrad.plan import ALIGN_BYTES, Plan

MAGIC = int.from_bytes(b"tabgrad1", "little")
OP_NUMBERS = {name: number for number, name in enumerate(OPS)}

# Rows and columns of the tiles that a product can be made of; an engine takes the one
# that is the fastest where it runs.
TILES = ((4, 8), (6, 8), (4, 16))
TILE_NAMES = tuple(f"{rows}x{columns}" for rows, columns in TILES)

# Products, which pack both operands into scratch that all threads share.
SHARING = (
    "matmul_nn",
    "matmul_nt",
    "matmul_tn",
    "linear_fwd",
    "linear_gelu_fwd",
    "linear_residual_fwd",
    "matmul_nt_mul",
    "linear_bwd_wb",
    "grouped_linear_bwd_wb",
)


@dataclass(frozen=True)
class Scratch:
    """Floats of scratch that an op wants for each thread.

    With T and D = C / H rounded up to a multiple of 8: heads T D + times 8 T +
    depths 8 D.
    """

    heads: int
    times: int
    depths: int


SCRATCH = {
    "attention_fwd": Scratch(heads=3, times=1, depths=2),
    "attention_bwd": Scratch(heads=6, times=8, depths=3),
    "attention_cached_fwd": Scratch(heads=0, times=1, depths=0),
}


def is_count(const: str) -> bool:
    """Return whether a constant is a whole number: sizes, and names N_..."""
    return len(const) == 1 or const.startswith("N_")


def contract_hash() -> int:
    """Return 63 bits that change when an op, argument, constant, size or tile does."""
    rows = [
        (
            op.name,
            [(a.name, a.axes, a.dtype, a.access) for a in op.args],
            op.consts,
            op.adds,
            repr(SCRATCH.get(op.name)),
            op.name in SHARING,
        )
        for op in OPS.values()
    ]
    digest = hashlib.sha256(repr((rows, TILES)).encode()).digest()
    return int.from_bytes(digest[:8], "little") >> 1


@dataclass(frozen=True)
class Arena:
    """Where each storage starts in the engine's memory, and what all of them need.

    From byte `shared` to its end lies scratch that all threads share.
    """

    starts: Mapping[str, int]
    shared: int
    n_bytes: int

    def offset(self, plan: Plan, tensor: str) -> int:
        """Return the byte offset of a tensor."""
        place = plan.places[tensor]
        return self.starts[place.storage] + place.offset


def lay_out(plan: Plan, start: int = 0, gap: int = 0) -> Arena:
    """Return the storages one after the other, then the shared scratch.

    Args:
        plan: what to lay out.
        start: bytes left free in front; tests put tensors past 4 GiB with it.
        gap: bytes left free after each storage; tests look for stray writes there.
    """
    starts, at = {}, start
    for name, n_bytes in plan.storages.items():
        starts[name] = at
        at += -(-(n_bytes + gap) // ALIGN_BYTES) * ALIGN_BYTES
    calls = (call for program in plan.programs.values() for call in program)
    return Arena(starts, at, at + shared_bytes(calls))


def _padded(size: int, to: int = 8) -> int:
    return -(-size // to) * to


def shared_bytes(calls: Iterable[Call]) -> int:
    """Return the scratch that all threads share, for any of the calls.

    A product packs x and w with M and N filled up to whole tiles, whichever is used.
    """
    most = 0
    for call in calls:
        if call.op.name in SHARING:
            m, n, k = (int(call.consts[size]) for size in "MNK")
            vectors = (
                _padded(m, rows) + _padded(n, columns) for rows, columns in TILES
            )
            most = max(most, 4 * max(vectors) * k)
    return _padded(most, ALIGN_BYTES)


def scratch_bytes(calls: Iterable[Call]) -> int:
    """Return the scratch that one thread needs for any of the calls."""
    most = 0
    for call in calls:
        need = SCRATCH.get(call.op.name)
        if need is not None:
            time = _padded(int(call.consts["T"]))
            depth = _padded(int(call.consts["C"]) // int(call.consts["H"]))
            floats = need.heads * time * depth
            floats += 8 * (need.times * time + need.depths * depth)
            most = max(most, 4 * floats)
    return _padded(most, ALIGN_BYTES)


def _call_words(plan: Plan, arena: Arena, call: Call) -> bytes:
    op = call.op
    adds = sum(1 << bit for bit, name in enumerate(op.adds) if name in call.adds)
    offsets = [arena.offset(plan, call.args[arg.name]) for arg in op.args]
    words = struct.pack(f"<{2 + len(offsets)}Q", OP_NUMBERS[op.name], adds, *offsets)
    for const in op.consts:
        value = call.consts[const]
        words += struct.pack("<Q" if is_count(const) else "<d", value)
    return words


def serialise(plan: Plan, arena: Arena) -> bytes:
    """Return the plan as the engine reads it; programs keep the plan's order."""
    calls = [c for program in plan.programs.values() for c in program]
    room = [arena.n_bytes, arena.shared, scratch_bytes(calls)]
    head = [MAGIC, contract_hash(), *room]
    table = [len(plan.programs)]
    body = b""
    start = len(head) + 1 + 2 * len(plan.programs)
    for program in plan.programs.values():
        table += [start + len(body) // 8, len(program)]
        body += b"".join(_call_words(plan, arena, call) for call in program)
    return struct.pack(f"<{len(head) + len(table)}Q", *head, *table) + body


def op_of(number: int) -> Op:
    """Return the op of a number in a serialised plan."""
    return list(OPS.values())[number]
