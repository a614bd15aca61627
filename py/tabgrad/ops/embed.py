"""Token and position embeddings."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tabgrad.ops.contract import Op, Tol, Vjp
from tabgrad.tensors import Array


def embed_fwd(ids: NDArray[np.uint32], wte: Array, wpe: Array) -> Array:
    """Return y[b t] = wte[ids[b t]] + wpe[t], shape (R, C)."""
    n_batch = len(ids) // len(wpe)
    y: Array = wte[ids] + np.tile(wpe, (n_batch, 1))
    return y


EMBED_FWD = Op(
    "embed_fwd",
    reads={"ids": "R:u32", "wte": "V C", "wpe": "T C"},
    writes={"y": "R C"},
    reference=embed_fwd,
    vjp=(Vjp("embed_bwd"),),
    flops=lambda d: d["R"] * d["C"],
    tol=Tol(rel=1e-6, abs=1e-7),
)


def embed_bwd(
    ids: NDArray[np.uint32], dy: Array, V: int, T: int
) -> tuple[Array, Array]:
    """Return dwte[v] = sum of dy over the rows with id v; dwpe[t] = sum_b dy[b t].

    Forward: y[b t] = wte[ids[b t]] + wpe[t].
    """
    dwte = np.zeros((V, dy.shape[1]), dy.dtype)
    np.add.at(dwte, ids, dy)
    return dwte, dy.reshape(-1, T, dy.shape[1]).sum(axis=0)


EMBED_BWD = Op(
    "embed_bwd",
    reads={"ids": "R:u32", "dy": "R C"},
    writes={"dwte": "V C", "dwpe": "T C"},
    reference=embed_bwd,
    adds=("dwte", "dwpe"),
    flops=lambda d: 2 * d["R"] * d["C"],
)


def embed_at_fwd(
    ids: NDArray[np.uint32], index: NDArray[np.uint32], wte: Array, wpe: Array
) -> Array:
    """Return y = wte[ids[t]] + wpe[t] of one row, t = index % T, shape (1, C)."""
    t = index % len(wpe)
    y: Array = wte[ids[t]] + wpe[t]
    return y


EMBED_AT_FWD = Op(
    "embed_at_fwd",
    reads={"ids": "T:u32", "index": "1:u32", "wte": "V C", "wpe": "T C"},
    writes={"y": "1 C"},
    reference=embed_at_fwd,
    flops=lambda d: d["C"],
    tol=Tol(rel=1e-6, abs=1e-7),
)

OPS = (EMBED_FWD, EMBED_BWD, EMBED_AT_FWD)
