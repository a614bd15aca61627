"""Causal self-attention over packed queries, keys and values, whole or row by row.

Source: Dao 2023 (arXiv 2307.08691): only lse = m + log l is kept for the backward.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from tabgrad.ops.contract import Const, Op, Tol, Vjp
from tabgrad.tensors import Array


def _split(qkv: Array, H: int, T: int) -> tuple[Array, Array, Array]:
    """Return q, k, v, each (B, H, T, D), of qkv (R, 3C)."""
    n_embd = qkv.shape[1] // 3
    parts = qkv.reshape(-1, T, 3, H, n_embd // H).transpose(2, 0, 3, 1, 4)
    return parts[0], parts[1], parts[2]


def _merge(heads: Array) -> Array:
    """Return (R, C) of heads (B, H, T, D)."""
    n_batch, n_head, time, depth = heads.shape
    return heads.transpose(0, 2, 1, 3).reshape(n_batch * time, n_head * depth)


def _scores(q: Array, k: Array) -> Array:
    """Return the scaled scores (B, H, T, T), -inf above the diagonal."""
    scores = q @ k.swapaxes(2, 3) * q.dtype.type(1.0 / np.sqrt(q.shape[3]))
    future = np.triu(np.ones(scores.shape[2:], bool), 1)
    masked: Array = np.where(future, q.dtype.type(-np.inf), scores)
    return masked


def attention_fwd(qkv: Array, H: int, T: int) -> tuple[Array, Array]:
    """Return y = softmax(q k^T / sqrt D) v and lse (R, H), causal in each window."""
    q, k, v = _split(qkv, H, T)
    s = _scores(q, k)
    m = s.max(axis=3, keepdims=True)
    p = np.exp(s - m)
    total = p.sum(axis=3, keepdims=True)
    lse = (m + np.log(total))[..., 0]
    return _merge(p / total @ v), lse.transpose(0, 2, 1).reshape(-1, H)


def _attention_flops(d: Mapping[str, Const]) -> float:
    return 2.0 * d["R"] * (d["T"] + 1) * d["C"]  # two products over half the scores


ATTENTION_FWD = Op(
    "attention_fwd",
    reads={"qkv": "R 3C"},
    writes={"y": "R C", "lse": "R H"},
    reference=attention_fwd,
    vjp=(Vjp("attention_bwd"),),
    attrs=("T",),
    flops=_attention_flops,
)


def attention_bwd(qkv: Array, y: Array, lse: Array, dy: Array, H: int, T: int) -> Array:
    """Return dqkv (R, 3C); p is rebuilt from lse.

    Forward: p = exp(s - lse), y = p v. So dv = p^T dy, dp = dy v^T,
    ds = p (dp - rowsum(dy y)), dq = ds k / sqrt D, dk = ds^T q / sqrt D.
    """
    q, k, v = _split(qkv, H, T)
    depth = q.shape[3]

    def heads(rows: Array) -> Array:
        return rows.reshape(-1, T, H, depth).transpose(0, 2, 1, 3)

    lse_heads = lse.reshape(-1, T, H).transpose(0, 2, 1)[..., None]
    p = np.exp(_scores(q, k) - lse_heads)
    g = heads(dy)
    delta = (g * heads(y)).sum(axis=3, keepdims=True)
    ds = p * (g @ v.swapaxes(2, 3) - delta) * q.dtype.type(1.0 / np.sqrt(depth))
    dq, dk, dv = ds @ k, ds.swapaxes(2, 3) @ q, p.swapaxes(2, 3) @ g
    return np.concatenate([_merge(dq), _merge(dk), _merge(dv)], axis=1)


ATTENTION_BWD = Op(
    "attention_bwd",
    reads={"qkv": "R 3C", "y": "R C", "lse": "R H", "dy": "R C"},
    writes={"dqkv": "R 3C"},
    reference=attention_bwd,
    attrs=("T",),
    flops=lambda d: 2.5 * _attention_flops(d),
)


def cache_fwd(qkv: Array) -> Array:
    """Return the keys and values of each row, cache (R, 2C)."""
    return qkv[:, qkv.shape[1] // 3 :]


CACHE_FWD = Op(
    "cache_fwd",
    reads={"qkv": "R 3C"},
    writes={"cache": "R 2C"},
    reference=cache_fwd,
    tol=Tol(rel=0.0, abs=0.0),  # copied
)


def attention_cached_fwd(
    qkv: Array, index: NDArray[np.uint32], cache: Array, H: int
) -> tuple[Array, Array]:
    """Return cache with k and v of qkv in its row t = index % T, and y (1, C).

    y = softmax(q k^T / sqrt D) v over the rows 0 to t, the last of attention_fwd's.
    """
    n_embd = qkv.shape[1] // 3
    t = int(index[0]) % len(cache)
    kept = cache.copy()
    kept[t] = qkv[0, n_embd:]
    q = qkv[0, :n_embd].reshape(H, 1, -1)
    k, v = kept[: t + 1].reshape(t + 1, 2, H, -1).transpose(1, 2, 0, 3)
    s = q @ k.swapaxes(1, 2) * q.dtype.type(1.0 / np.sqrt(q.shape[2]))
    p = np.exp(s - s.max(axis=2, keepdims=True))
    y = p / p.sum(axis=2, keepdims=True) @ v
    return kept, y.reshape(1, n_embd)


ATTENTION_CACHED_FWD = Op(
    "attention_cached_fwd",
    reads={"qkv": "1 3C", "index": "1:u32"},
    updates={"cache": "T 2C"},
    writes={"y": "1 C"},
    reference=attention_cached_fwd,
    attrs=("H",),
    flops=lambda d: 2.0 * (d["T"] + 1) * d["C"],  # of the mean over all rows
)

OPS = (ATTENTION_FWD, ATTENTION_BWD, CACHE_FWD, ATTENTION_CACHED_FWD)
