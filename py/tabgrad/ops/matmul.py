"""The three matrix products, the linear layer, and what is fused with them.

n is a plain operand and t a transposed one: nn is x w, nt is x w^T, tn is x^T w.
The gradient of each is two of the others. The fused ops do what `fuse.py` says.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tabgrad.ops.contract import Const, Op, Tol, Vjp
from tabgrad.ops.gelu import gelu_fwd, gelu_slope
from tabgrad.tensors import Array, padded_rows


def _flops(d: Mapping[str, Const]) -> float:
    return 2.0 * d["M"] * d["N"] * d["K"]


# a dot product of K unit terms in float32 strays by about sqrt(K) half-ulps
_TOL = Tol(rel=1e-5, abs=2e-5)


def matmul_nn(x: Array, w: Array) -> Array:
    """Return y = x w."""
    return x @ w


MATMUL_NN = Op(
    "matmul_nn",
    reads={"x": "M K", "w": "K N"},
    writes={"y": "M N"},
    reference=matmul_nn,
    adds=("y",),
    flops=_flops,
    tol=_TOL,
)


def matmul_nt(x: Array, w: Array) -> Array:
    """Return y = x w^T."""
    return x @ w.T


MATMUL_NT = Op(
    "matmul_nt",
    reads={"x": "M K", "w": "N K"},
    writes={"y": "M N"},
    reference=matmul_nt,
    vjp=(
        Vjp("matmul_nn", x="dy", w="w", y="dx"),
        Vjp("matmul_tn", x="dy", w="x", y="dw"),
    ),
    adds=("y",),
    flops=_flops,
    tol=_TOL,
)


def matmul_tn(x: Array, w: Array) -> Array:
    """Return y = x^T w."""
    return x.T @ w


MATMUL_TN = Op(
    "matmul_tn",
    reads={"x": "K M", "w": "K N"},
    writes={"y": "M N"},
    reference=matmul_tn,
    adds=("y",),
    flops=_flops,
    tol=_TOL,
)


def linear_fwd(x: Array, w: Array, b: Array) -> Array:
    """Return y = x w + b."""
    return x @ w + b


LINEAR_FWD = Op(
    "linear_fwd",
    reads={"x": "M K", "w": "K N", "b": "N"},
    writes={"y": "M N"},
    reference=linear_fwd,
    vjp=(
        Vjp("matmul_nt", x="dy", w="w", y="dx"),
        Vjp("matmul_tn", x="x", w="dy", y="dw"),
        Vjp("bias_bwd"),
    ),
    flops=_flops,
    tol=_TOL,
)


def bias_bwd(dy: Array) -> Array:
    """Return db = sum_r dy. Forward: y = x w + b."""
    db: Array = dy.sum(axis=0)
    return db


BIAS_BWD = Op(
    "bias_bwd",
    reads={"dy": "M N"},
    writes={"db": "N"},
    reference=bias_bwd,
    adds=("db",),
    flops=lambda d: d["M"] * d["N"],
    tol=Tol(rel=2e-5, abs=1e-5),
)


def linear_gelu_fwd(x: Array, w: Array, b: Array) -> tuple[Array, Array]:
    """Return y = gelu(x w + b), and the slope of gelu there, kept for the backward."""
    pre = x @ w + b
    return gelu_fwd(pre), gelu_slope(pre)


LINEAR_GELU_FWD = Op(
    "linear_gelu_fwd",
    reads={"x": "M K", "w": "K N", "b": "N"},
    writes={"y": "M N", "slope": "M N"},
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


def matmul_nt_mul(x: Array, w: Array, slope: Array) -> Array:
    """Return y = (x w^T) slope, element by element: the gradient of a GELU's input."""
    y: Array = (x @ w.T) * slope
    return y


MATMUL_NT_MUL = Op(
    "matmul_nt_mul",
    reads={"x": "M K", "w": "N K", "slope": "M N"},
    writes={"y": "M N"},
    reference=matmul_nt_mul,
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


def grouped_linear_bwd_wb(x: Array, dy: Array, W: int) -> tuple[Array, Array]:
    """Return dw and db of G linear layers; elements N to W - 1 of db are zero.

    Forward: y = x w + b, for each of the layers.
    """
    pairs = [linear_bwd_wb(*each) for each in zip(x, dy, strict=True)]
    dw, db = zip(*pairs, strict=True)
    return np.stack(dw), padded_rows(db, W)


GROUPED_LINEAR_BWD_WB = Op(
    "grouped_linear_bwd_wb",
    reads={"x": "G K M", "dy": "G K N"},
    writes={"dw": "G M N", "db": "G W"},
    reference=grouped_linear_bwd_wb,
    flops=lambda d: d["G"] * _flops(d),
    tol=_TOL,
)

OPS = (
    MATMUL_NN,
    MATMUL_NT,
    MATMUL_TN,
    LINEAR_FWD,
    BIAS_BWD,
    LINEAR_GELU_FWD,
    LINEAR_RESIDUAL_FWD,
    MATMUL_NT_MUL,
    LINEAR_BWD_WB,
    GROUPED_LINEAR_BWD_WB,
)
