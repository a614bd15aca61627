"""Ops that do the work of several: what `fuse.py` puts in place of plain ones.

Each is defined by the plain ops it replaces; a test holds the fused plan to the plain.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from tabgrad.ops.contract import Const, Op, Tol
from tabgrad.ops.gelu import gelu_bwd, gelu_fwd
from tabgrad.ops.xent import xent_bwd, xent_fwd
from tabgrad.tensors import Array


def _flops(d: Mapping[str, Const]) -> float:
    return 2.0 * d["M"] * d["N"] * d["K"]


_TOL = Tol(rel=1e-5, abs=2e-5)  # as the plain products


def linear_gelu_fwd(x: Array, w: Array, b: Array) -> tuple[Array, Array]:
    """Return pre = x w + b, kept for the backward, and y = gelu(pre)."""
    pre = x @ w + b
    return pre, gelu_fwd(pre)


LINEAR_GELU_FWD = Op(
    "linear_gelu_fwd",
    reads={"x": "M K", "w": "K N", "b": "N"},
    writes={"pre": "M N", "y": "M N"},
    reference=linear_gelu_fwd,
    flops=_flops,
    tol=_TOL,
)


def linear_residual_fwd(x: Array, w: Array, b: Array, a: Array) -> Array:
    """Return y = a + (x w + b)."""
    y: Array = a + (x @ w + b)
    return y


LINEAR_RESIDUAL_FWD = Op(
    "linear_residual_fwd",
    reads={"x": "M K", "w": "K N", "b": "N", "a": "M N"},
    writes={"y": "M N"},
    reference=linear_residual_fwd,
    flops=_flops,
    tol=_TOL,
)


def matmul_nt_gelu_bwd(x: Array, w: Array, pre: Array) -> Array:
    """Return y = (x w^T) gelu'(pre): the gradient of a GELU's input."""
    return gelu_bwd(pre, x @ w.T)


MATMUL_NT_GELU_BWD = Op(
    "matmul_nt_gelu_bwd",
    reads={"x": "M K", "w": "N K", "pre": "M N"},
    writes={"y": "M N"},
    reference=matmul_nt_gelu_bwd,
    flops=_flops,
    tol=_TOL,
)


def linear_bwd_wb(x: Array, dy: Array) -> tuple[Array, Array]:
    """Return dw = x^T dy and db = sum_r dy. Forward: y = x w + b."""
    return x.T @ dy, dy.sum(axis=0)


LINEAR_BWD_WB = Op(
    "linear_bwd_wb",
    reads={"x": "K M", "dy": "K N"},
    writes={"dw": "M N", "db": "N"},
    reference=linear_bwd_wb,
    adds=("dw", "db"),
    flops=_flops,
    tol=_TOL,
)


def xent_fwd_bwd(logits: Array, targets: NDArray[np.uint32]) -> tuple[Array, Array]:
    """Return the gradient in place of the logits, and loss (R,)."""
    loss, lse = xent_fwd(logits, targets)
    return xent_bwd(logits, targets, lse), loss


XENT_FWD_BWD = Op(
    "xent_fwd_bwd",
    reads={"targets": "R:u32"},
    updates={"logits": "R V"},
    writes={"loss": "R"},
    reference=xent_fwd_bwd,
    flops=lambda d: 9 * d["R"] * d["V"],
)

OPS = (
    LINEAR_GELU_FWD,
    LINEAR_RESIDUAL_FWD,
    MATMUL_NT_GELU_BWD,
    LINEAR_BWD_WB,
    XENT_FWD_BWD,
)
