"""The residual sum."""

from __future__ import annotations

from tabgrad.ops.contract import Op, Tol, Vjp
from tabgrad.tensors import Array


def residual_fwd(a: Array, b: Array) -> Array:
    """Return y = a + b."""
    return a + b


RESIDUAL_FWD = Op(
    "residual_fwd",
    reads={"a": "R C", "b": "R C"},
    writes={"y": "R C"},
    reference=residual_fwd,
    vjp=(Vjp("residual_bwd"),),
    flops=lambda d: d["R"] * d["C"],
    tol=Tol(rel=1e-6, abs=1e-7),
)


def residual_bwd(dy: Array) -> tuple[Array, Array]:
    """Return da = dy and db = dy. Forward: y = a + b."""
    return dy, dy


RESIDUAL_BWD = Op(
    "residual_bwd",
    reads={"dy": "R C"},
    writes={"da": "R C", "db": "R C"},
    reference=residual_bwd,
    adds=("da", "db"),
    flops=lambda d: 2 * d["R"] * d["C"],
    tol=Tol(rel=1e-6, abs=1e-7),
)

OPS = (RESIDUAL_FWD, RESIDUAL_BWD)
