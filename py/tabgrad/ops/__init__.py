"""Every op: contract, numpy reference and gradient; `OPS` finds one by name."""

from __future__ import annotations

from tabgrad.ops import (
    attention,
    batch,
    embed,
    gelu,
    layernorm,
    matmul,
    optim,
    residual,
    xent,
)
from tabgrad.ops.contract import Arg, Call, Const, Op, Tol, Vjp

__all__ = ["OPS", "Arg", "Call", "Const", "Op", "Tol", "Vjp"]

OPS: dict[str, Op] = {
    op.name: op
    for module in (
        batch,
        embed,
        layernorm,
        matmul,
        attention,
        gelu,
        residual,
        xent,
        optim,
    )
    for op in module.OPS
}
