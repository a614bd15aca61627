"""FlashAttention-2 of one head in numpy: the algorithm that the kernels write out.

Rows are walked in tiles; nothing is larger than a tile of scores. `wgsl/attention/`,
`cpp/attention.cpp` follow it: a workgroup or a thread owns the tile of the outer loop.

Source: Dao 2023 (arXiv 2307.08691), algorithms 1 and 2.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.float64]


def tiles(n: int, size: int) -> Iterator[slice]:
    """Return the rows of each tile; the last one may be short."""
    return (slice(at, min(at + size, n)) for at in range(0, n, size))


def scores(q: Rows, k: Rows, own: slice, other: slice) -> Rows:
    """Return the scaled scores of a tile of queries and keys, -inf where masked."""
    s: Rows = q[own] @ k[other].T / np.sqrt(q.shape[1])
    queries, keys = np.arange(len(q))[own], np.arange(len(k))[other]
    s[queries[:, None] < keys] = -np.inf
    return s


def forward(q: Rows, k: Rows, v: Rows, size: tuple[int, int]) -> tuple[Rows, Rows]:
    """Return y (T, D) and lse (T), by `size` queries and keys of a tile.

    Args:
        q: queries (T, D).
        k: keys (T, D).
        v: values (T, D).
        size: rows of a tile of queries, and of one of keys.
    """
    y, lse = np.zeros_like(v), np.zeros(len(q))
    for own in tiles(len(q), size[0]):
        n = own.stop - own.start
        m, total, acc = np.full(n, -np.inf), np.zeros(n), np.zeros((n, q.shape[1]))
        for other in tiles(own.stop, size[1]):  # tiles after the last query are skipped
            s = scores(q, k, own, other)
            m_new = np.maximum(m, s.max(axis=1))
            p, rescale = np.exp(s - m_new[:, None]), np.exp(m - m_new)
            total = total * rescale + p.sum(axis=1)
            acc = acc * rescale[:, None] + p @ v[other]
            m = m_new
        y[own], lse[own] = acc / total[:, None], m + np.log(total)
    return y, lse


def backward(
    inputs: tuple[Rows, Rows, Rows],
    outputs: tuple[Rows, Rows],
    dy: Rows,
    size: tuple[int, int],
) -> tuple[Rows, Rows, Rows]:
    """Return dq, dk, dv (T, D): queries walk over keys, and keys over queries.

    Two walks instead of one with sums into dq from every tile of keys: each sum has
    one owner and one order.

    Args:
        inputs: q, k, v (T, D).
        outputs: y (T, D) and lse (T) of `forward`.
        dy: gradient of y (T, D).
        size: rows of a tile of what owns the sums, and of what it walks over.
    """
    (q, k, v), (y, lse) = inputs, outputs
    dq, dk, dv = np.zeros_like(q), np.zeros_like(k), np.zeros_like(v)
    delta = (dy * y).sum(axis=1)

    def tile(queries: slice, keys: slice) -> tuple[Rows, Rows]:
        p = np.exp(scores(q, k, queries, keys) - lse[queries, None])
        ds = p * (dy[queries] @ v[keys].T - delta[queries, None])
        return p, ds / np.sqrt(q.shape[1])

    for own in tiles(len(q), size[0]):
        for other in tiles(own.stop, size[1]):
            _, ds = tile(own, other)
            dq[own] += ds @ k[other]
    for own in tiles(len(k), size[0]):
        for other in tiles(len(q), size[1]):
            if other.stop <= own.start:  # every query of it is before the keys
                continue
            p, ds = tile(other, own)
            dk[own] += ds.T @ q[other]
            dv[own] += p.T @ dy[other]
    return dq, dk, dv
