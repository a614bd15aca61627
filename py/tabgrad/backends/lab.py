"""Experiments that the bench page times on a device: one piece of work in several ways.

What a row of the table of kernels can say is one, and is timed with its op; here stand
ideas about loops, memory, dispatches and several ops at once. `docs/lab/` says what
each is for and what was found. Nothing here trains.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from tabgrad.backends.product_variants import STAGING, Blocking
from tabgrad.backends.row_variants import ROW_VARIANTS
from tabgrad.backends.variant import (
    BASE,
    ELEMENT_BYTES,
    WORKGROUP,
    Consts,
    Variant,
    product_of,
)
from tabgrad.backends.variants import base_variant
from tabgrad.ops import OPS, Call, Const, Op
from tabgrad.ops.cases import case_call, case_inputs
from tabgrad.plan import Place
from tabgrad.tensors import Array, Tensor

DISPATCHES = 32  # of a way that is about dispatches
PLACE_BYTES = 256  # between tensors of one buffer: what every device can bind
_THREADS = 256


@dataclass(frozen=True)
class Way:
    """One way to do the work of an experiment.

    Args:
        name: what sets it apart.
        steps: calls, in order, and the row that does each.
        outputs: tensors that are held to those of the first way, one by one.
    """

    name: str
    steps: tuple[tuple[Call, Variant], ...]
    outputs: tuple[str, ...] = ()

    @property
    def dispatches(self) -> int:
        """How many dispatches it is."""
        return sum(len(row.passes) for _, row in self.steps)

    def can_do(self, features: frozenset[str], workgroup_bytes: int) -> bool:
        """Return whether a device of these features and this memory does all of it."""
        device = (features, workgroup_bytes)
        return all(row.can_do(call.consts, *device) for call, row in self.steps)


@dataclass(frozen=True)
class Experiment:
    """Ways to do one piece of work, the first of which the others are held to.

    Tensors have a buffer of their own each, but for those in `places`.
    """

    tensors: Mapping[str, Tensor]
    inputs: Mapping[str, Array]
    ways: tuple[Way, ...]
    places: Mapping[str, Place] = field(default_factory=dict)


def _by_rows(op: Op, sizes: Consts, rows: Sequence[Variant]) -> Experiment:
    """Return an experiment of one call, a way for each row."""
    call, tensors = case_call(op, sizes, False)
    outputs = tuple(arg.name for arg in op.outputs)
    fitting = [row for row in rows if row.fits(sizes)]
    ways = tuple(Way(row.name, ((call, row),), outputs) for row in fitting)
    return Experiment(tensors, case_inputs(op, sizes), ways)


def _embed_rows() -> list[Variant]:
    zero = Variant(
        "compare and swap",
        "embed_bwd",
        "probe/embed_zero",
        lambda c: int(c["C"]) * max(int(c["V"]), int(c["T"])),
    )
    add = replace(zero, file="probe/embed_atomics", threads=product_of("R", "C"))
    ours = [row for row in ROW_VARIANTS if row.op == zero.op]
    return [base_variant(zero.op), *ours, replace(zero, then=(add,))]


def _embedding(width: int) -> Callable[[bool], Experiment]:
    def made(is_small: bool) -> Experiment:
        sizes = {"R": 1024, "T": 64, "C": width, "V": 256}
        sizes |= {"R": 32, "T": 8, "C": 8, "V": 8} if is_small else {}
        found = _by_rows(OPS["embed_bwd"], sizes, _embed_rows())
        # as in texts, some ids are frequent: number k of them as 1 / (k + 1)
        share = 1 / np.arange(1, sizes["V"] + 1)
        rng = np.random.default_rng(0)
        ids = rng.choice(sizes["V"], sizes["R"], p=share / share.sum())
        inputs = {**found.inputs, "ids": ids.astype(np.uint32)}
        return Experiment(found.tensors, inputs, found.ways)

    return made


def _copy(x: Array) -> Array:
    return x


LOOP = Op(
    "loop", reads={"x": "N"}, writes={"y": "N"}, attrs=("ITERS",), reference=_copy
)
ROOM = Op("room", reads={"x": "N"}, writes={"y": "N"}, reference=_copy)
NOTHING = Op("nothing", reads={}, writes={"y": "N"}, reference=_copy)
HEAD = Op(
    "head",
    reads={"targets": "R:u32", "x": "R C", "w": "V C"},
    writes={"logits": "R V", "loss": "R"},
    reference=_copy,
)
TURNS = 8  # of a loop that are written out


def _loop(name: str, main: str) -> Variant:
    return Variant(
        name,
        LOOP.name,
        "probe/loop",
        product_of("N"),
        constants={"WG": WORKGROUP, "TURNS": TURNS},
        main=f"probe/loop_{main}",
    )


_KNOWN = _loop("the end is a constant", "known")


def _loops(is_small: bool) -> Experiment:
    sizes = {"N": 256 if is_small else 1 << 18, "ITERS": 1024}
    guarded = _loop("the end is in memory: guarded", "guarded")
    written_out = _loop(f"{TURNS} turns written out", "written_out")
    return _by_rows(LOOP, sizes, (_KNOWN, guarded, written_out))


def _room(kib: int) -> Variant:
    n_bytes = 1024 * kib
    return Variant(
        f"{kib} KiB",
        ROOM.name,
        "probe/room",
        product_of("N"),
        constants={"WG": _THREADS, "ROOM": n_bytes // ELEMENT_BYTES},
        workgroup_bytes=lambda _: n_bytes,
    )


def _rooms(is_small: bool) -> Experiment:
    sizes = {"N": 1 << (10 if is_small else 20)}
    return _by_rows(ROOM, sizes, [_room(kib) for kib in (1, 4, 16, 32)])


def _arenas(_: bool) -> Experiment:
    """Return small dispatches that write the same buffer, or others."""
    sizes: dict[str, Const] = {"N": WORKGROUP, "ITERS": 1024}
    call, tensors = case_call(LOOP, sizes, False)
    numbers = range(DISPATCHES)
    together = [f"together.{i}" for i in numbers]
    apart = [f"apart.{i}" for i in numbers]
    names = ["x", *together, *apart]
    every = {name: Tensor(name, tensors["y"].shape, "f32", "io") for name in names}
    places = {name: Place("arena", PLACE_BYTES * i) for i, name in enumerate(together)}

    def way(name: str, reads: Sequence[str], writes: Sequence[str]) -> Way:
        pairs = zip(reads, writes, strict=True)
        calls = [Call(LOOP, {"x": x, "y": y}, call.consts) for x, y in pairs]
        is_chain = reads[1] != "x"
        outputs = () if is_chain else tuple(writes)
        return Way(name, tuple((call, _KNOWN) for call in calls), outputs)

    inputs = ["x"] * DISPATCHES
    ways = (
        way("a buffer each", inputs, apart),
        way("one buffer, a place each", inputs, together),
        way("one buffer, one place", inputs, together[:1] * DISPATCHES),
        way("each reads what the last one wrote", ["x", *apart[:-1]], apart),
    )
    return Experiment(every, {"x": case_inputs(LOOP, sizes)["x"]}, ways, places)


def _nothings(_: bool) -> Experiment:
    """Return empty dispatches: what a dispatch costs, and another pipeline."""
    call, tensors = case_call(NOTHING, {"N": WORKGROUP}, False)

    def row(threads: int) -> Variant:
        file, constants = "probe/nothing", {"WG": threads}
        return Variant(BASE, NOTHING.name, file, lambda _: 1, constants, libs=())

    def way(name: str, sizes: Sequence[int]) -> Way:
        rows = [row(threads) for threads in sizes]
        calls = [Call(NOTHING, call.args, call.consts) for _ in range(DISPATCHES)]
        return Way(name, tuple((c, rows[i % len(rows)]) for i, c in enumerate(calls)))

    ways = (way("one pipeline", (64,)), way("two pipelines in turn", (64, 32)))
    return Experiment(tensors, {}, ways)


def _head_row(rows: int, per_thread: int) -> Variant:
    """Return a kernel of `rows` rows a workgroup, for 256 logits a row."""
    vocab, lanes, terms = 256, 64, 16
    threads = rows // per_thread * lanes
    sizes = {"BM": rows, "BN": vocab, "BK": terms, "TM": per_thread, "BUFFERS": 1}
    return Variant(
        f"one kernel, {rows} rows by {per_thread}",
        HEAD.name,
        "probe/head",
        lambda c: int(c["R"]) // rows * threads,
        constants={"WG": threads, "LANES": lanes, "RADIX": 8, **sizes},
        libs=("elem4", "xw", "exps", "lanes", *STAGING),
        flags={"X_IS_KM": False, "W_IS_NK": True},
        fits=lambda c: c["V"] == vocab and not (c["R"] % rows or c["C"] % terms),
        workgroup_bytes=lambda _: (
            ELEMENT_BYTES * ((rows + vocab + 16) * terms + 2 * threads)
        ),
    )


def _head(width: int) -> Callable[[bool], Experiment]:
    def made(is_small: bool) -> Experiment:
        sizes = {"R": 64 if is_small else 1024, "C": 32 if is_small else width}
        head, tensors = case_call(HEAD, {**sizes, "V": 256}, False)
        outputs = ("logits", "loss")
        products = [Blocking(32, 32, 32, 4, 4), Blocking(64, 64, 16, 8, 4)]
        shapes = [(8, 2), (4, 1), (8, 4), (16, 4)]
        if is_small:  # software compiles each for seconds
            products, shapes = products[:1], shapes[:1]
        apart = tuple(
            Way(f"a product, {tile.name}, then softmax", _apart(head, tile), outputs)
            for tile in products
        )
        rows = [_head_row(*shape) for shape in shapes]
        joined = (Way(row.name, ((head, row),), outputs) for row in rows)
        inputs = case_inputs(HEAD, head.consts)
        return Experiment(tensors, inputs, (*apart, *joined))

    return made


def _apart(head: Call, tile: Blocking) -> tuple[tuple[Call, Variant], ...]:
    """Return the head's work as a step does it: a product, then its softmax."""
    sizes = {"M": head.consts["R"], "N": head.consts["V"], "K": head.consts["C"]}
    args = {"x": "x", "w": "w", "y": "logits"}
    product = Call(OPS["matmul_nt"], args, sizes)
    rows = {name: head.consts[name] for name in ("R", "V")}
    same = {name: name for name in ("targets", "logits", "loss")}
    softmax = Call(OPS["xent_fwd_bwd"], same, rows)
    lanes = next(
        row
        for row in ROW_VARIANTS
        if (row.op, row.name) == (softmax.op.name, "elem4_lanes64")
    )
    return (product, tile.variant("matmul_nt")), (softmax, lanes)


# name -> a function that makes it: small for a software adapter, else for a device
EXPERIMENTS: dict[str, Callable[[bool], Experiment]] = {
    "embedding gradient of 96 columns": _embedding(96),
    "embedding gradient of 384 columns": _embedding(384),
    "loops": _loops,
    "workgroup memory": _rooms,
    "32 small dispatches": _arenas,
    "32 empty dispatches": _nothings,
    "head of 96 columns": _head(96),
    "head of 256 columns": _head(256),
}
