"""The table of WGSL kernels that do an op.

Read by the WebGPU backend, the tests and the benchmark, so that no kernel exists that
nobody tests. The base row of an op is its plain definition in WGSL and fits every
call; the other rows are faster where their `needs` and `fits` hold.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tabgrad.errors import PlanError
from tabgrad.ops.contract import Const

Consts = Mapping[str, Const]

BASE = "base"
WORKGROUP = 64  # threads; two subgroups on most devices
TILE = 8  # outputs along each axis of a thread in lib/tile8.wgsl
TILE_WORKGROUP = 32  # few, since a thread does much: small products still spread out


def _always(_: Consts) -> bool:
    return True


@dataclass(frozen=True)
class Variant:
    """A kernel that does an op.

    Args:
        name: `base`, or what sets it apart.
        op: key of `OPS`.
        file: in `wgsl/`, without the suffix.
        threads: sizes -> threads that have work.
        constants: written in front of the kernel; WG is the size of a workgroup.
        libs: files of `wgsl/lib/`, written in front in this order.
        needs: device features.
        fits: sizes -> whether the kernel can do them.
    """

    name: str
    op: str
    file: str
    threads: Callable[[Consts], int]
    constants: Mapping[str, int] = field(default_factory=lambda: {"WG": WORKGROUP})
    libs: tuple[str, ...] = ("grid",)
    needs: frozenset[str] = frozenset()
    fits: Callable[[Consts], bool] = _always

    def workgroups(self, consts: Consts) -> int:
        """Return how many workgroups do a call."""
        return -(-self.threads(consts) // self.constants["WG"])


def _base(
    op: str, threads: Callable[[Consts], int], libs: tuple[str, ...] = ()
) -> Variant:
    return Variant(BASE, op, op, threads, libs=("grid", *libs))


def _single(op: str) -> Variant:
    return Variant(BASE, op, op, lambda _: 1, constants={"WG": 1})


def _tiled(op: str) -> Variant:
    constants = {"WG": TILE_WORKGROUP, "TILE": TILE}
    return Variant(BASE, op, op, _tiles, constants, libs=("grid", "tile8"))


def _per(*letters: str) -> Callable[[Consts], int]:
    """Return a count of one thread per element over these axes."""

    def threads(consts: Consts) -> int:
        n = 1
        for letter in letters:
            n *= int(consts[letter])
        return n

    return threads


def _tiles(consts: Consts) -> int:
    return -(-int(consts["M"]) // TILE) * -(-int(consts["N"]) // TILE)


VARIANTS: tuple[Variant, ...] = (
    _base("batch_fwd", _per("R")),
    _single("step_advance"),
    _base("embed_fwd", _per("R", "C")),
    _base("embed_bwd", _per("C")),
    _base("layernorm_fwd", _per("R")),
    _base("layernorm_bwd_x", _per("R")),
    _base("layernorm_bwd_wb", _per("C")),
    _tiled("matmul_nn"),
    _tiled("matmul_nt"),
    _tiled("matmul_tn"),
    _tiled("linear_fwd"),
    _base("bias_bwd", _per("N")),
    _base("attention_fwd", _per("R", "H"), ("quad",)),
    _base("attention_bwd", _per("R", "H"), ("quad",)),
    _base("gelu_fwd", _per("R", "F"), ("erfc",)),
    _base("gelu_bwd", _per("R", "F"), ("erfc",)),
    _base("residual_fwd", _per("R", "C")),
    _base("residual_bwd", _per("R", "C")),
    _base("xent_fwd", _per("R")),
    _base("xent_bwd", _per("R", "V")),
    _single("loss_mean"),
    _base("sqnorm_fwd", _per("P")),
    _single("clip_scale"),
    _base("adamw_update", _per("N")),
)


def base_variant(op_name: str) -> Variant:
    """Return the plain kernel of an op.

    Raises:
        PlanError: the op has none.
    """
    for variant in VARIANTS:
        if variant.op == op_name and variant.name == BASE:
            return variant
    raise PlanError(f"op {op_name} has no base row in backends/variants.py; add one")
