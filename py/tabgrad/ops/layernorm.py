"""Layer normalisation over the last axis. Source: arXiv 1607.06450, section 3."""

from __future__ import annotations

import numpy as np

from tabgrad.ops.contract import Op, Tol, Vjp
from tabgrad.tensors import Array, padded_rows


def layernorm_fwd(
    x: Array, w: Array, b: Array, EPS: float
) -> tuple[Array, Array, Array]:
    """Return y = w (x - mean) rstd + b, with mean and rstd (R,) for the backward."""
    mean = x.mean(axis=1)
    centred = x - mean[:, None]
    rstd = 1.0 / np.sqrt((centred * centred).mean(axis=1) + x.dtype.type(EPS))
    return w * (centred * rstd[:, None]) + b, mean, rstd


LAYERNORM_FWD = Op(
    "layernorm_fwd",
    reads={"x": "R C", "w": "C", "b": "C"},
    writes={"y": "R C", "mean": "R", "rstd": "R"},
    reference=layernorm_fwd,
    vjp=(Vjp("layernorm_bwd_x"), Vjp("layernorm_bwd_wb")),
    attrs=("EPS",),
    flops=lambda d: 8 * d["R"] * d["C"],
)


def layernorm_bwd_x(x: Array, w: Array, mean: Array, rstd: Array, dy: Array) -> Array:
    """Return dx = rstd (g - mean_c g - n mean_c(g n)), g = dy w, n = (x - mean) rstd.

    Forward: y = w n + b.
    """
    n = (x - mean[:, None]) * rstd[:, None]
    g = dy * w
    inner = g - g.mean(axis=1)[:, None] - n * (g * n).mean(axis=1)[:, None]
    dx: Array = inner * rstd[:, None]
    return dx


LAYERNORM_BWD_X = Op(
    "layernorm_bwd_x",
    reads={"x": "R C", "w": "C", "mean": "R", "rstd": "R", "dy": "R C"},
    writes={"dx": "R C"},
    reference=layernorm_bwd_x,
    adds=("dx",),
    flops=lambda d: 12 * d["R"] * d["C"],
)


def layernorm_residual_bwd_x(
    x: Array, w: Array, mean: Array, rstd: Array, dy: Array, a: Array
) -> Array:
    """Return dx = a + the gradient of layernorm_bwd_x.

    Forward: y = w n + b, and x is used beside it, with the gradient a.
    """
    return a + layernorm_bwd_x(x, w, mean, rstd, dy)


LAYERNORM_RESIDUAL_BWD_X = Op(
    "layernorm_residual_bwd_x",
    reads={"x": "R C", "w": "C", "mean": "R", "rstd": "R", "dy": "R C", "a": "R C"},
    writes={"dx": "R C"},
    reference=layernorm_residual_bwd_x,
    flops=lambda d: 13 * d["R"] * d["C"],
)


def layernorm_bwd_wb(
    x: Array, mean: Array, rstd: Array, dy: Array
) -> tuple[Array, Array]:
    """Return dw = sum_r dy (x - mean) rstd and db = sum_r dy.

    Forward: y = w (x - mean) rstd + b.
    """
    n = (x - mean[:, None]) * rstd[:, None]
    return (dy * n).sum(axis=0), dy.sum(axis=0)


LAYERNORM_BWD_WB = Op(
    "layernorm_bwd_wb",
    reads={"x": "R C", "mean": "R", "rstd": "R", "dy": "R C"},
    writes={"dw": "C", "db": "C"},
    reference=layernorm_bwd_wb,
    adds=("dw", "db"),
    flops=lambda d: 5 * d["R"] * d["C"],
    tol=Tol(rel=2e-5, abs=1e-5),
)


def grouped_layernorm_bwd_wb(
    x: Array, mean: Array, rstd: Array, dy: Array, W: int
) -> tuple[Array, Array]:
    """Return dw and db of G norms; elements C to W - 1 of each are zero.

    Forward: y = w (x - mean) rstd + b, for each of the norms.
    """
    members = zip(x, mean, rstd, dy, strict=True)
    pairs = [layernorm_bwd_wb(*each) for each in members]
    dw, db = zip(*pairs, strict=True)
    return padded_rows(dw, W), padded_rows(db, W)


GROUPED_LAYERNORM_BWD_WB = Op(
    "grouped_layernorm_bwd_wb",
    reads={"x": "G R C", "mean": "G R", "rstd": "G R", "dy": "G R C"},
    writes={"dw": "G W", "db": "G W"},
    reference=grouped_layernorm_bwd_wb,
    flops=lambda d: d["G"] * LAYERNORM_BWD_WB.flops(d),
    tol=LAYERNORM_BWD_WB.tol,
)

OPS = (
    LAYERNORM_FWD,
    LAYERNORM_BWD_X,
    LAYERNORM_RESIDUAL_BWD_X,
    LAYERNORM_BWD_WB,
    GROUPED_LAYERNORM_BWD_WB,
)
