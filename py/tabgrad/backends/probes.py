"""Kernels that measure a device instead of training: its multiply-adds, its memory."""

from __future__ import annotations

from collections.abc import Callable

from tabgrad.backends.variant import BASE, Consts, Variant
from tabgrad.ops import Const, Op
from tabgrad.tensors import Array

FMA_SIZES: dict[str, Const] = {"N": 1 << 19, "ITERS": 1024}
FMA_FLOPS = 2 * 8 * 4  # of a thread in one iteration: eight chains of vec4
COPY_SIZES: dict[str, Const] = {"N": 1 << 25}  # 128 MiB: more than caches hold
_WORKGROUP = 256


def _copy(x: Array) -> Array:
    return x


# Neither is in OPS: they are no part of a plan, and nothing is held to the first one.
FMA = Op("fma", reads={}, writes={"y": "N"}, attrs=("ITERS",), reference=_copy)
COPY = Op("copy", reads={"x": "N"}, writes={"y": "N"}, reference=_copy)


def _row(op: str, threads: Callable[[Consts], int]) -> Variant:
    constants = {"WG": _WORKGROUP}
    return Variant(BASE, op, f"probe/{op}", threads, constants=constants, libs=())


PROBES = (
    _row("fma", lambda c: int(c["N"])),
    _row("copy", lambda c: -(-int(c["N"]) // 4)),
)
