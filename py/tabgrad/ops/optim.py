"""Global-norm clipping and AdamW over flat arenas.

Source: Loshchilov and Hutter 2019 (arXiv 1711.05101), algorithm 2, with the decay
multiplied by the learning rate as PyTorch does.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tabgrad.ops.contract import Op, Tol
from tabgrad.tensors import Array

HALTED = -1.0  # the scale after a step that was not finite: nothing moves any more
N_PARTIALS = 1024  # partial sums per arena page; fixed, so that no order varies


def sqnorm_fwd(g: Array, P: int) -> Array:
    """Return partial[p] = sum of g[i]^2 over i = p, p + P, p + 2 P, ..."""
    padded = np.zeros(-(-len(g) // P) * P, g.dtype)
    padded[: len(g)] = g
    partial: Array = (padded * padded).reshape(-1, P).sum(axis=0)
    return partial


SQNORM_FWD = Op(
    "sqnorm_fwd",
    reads={"g": "N"},
    writes={"partial": "P"},
    reference=sqnorm_fwd,
    flops=lambda d: 2 * d["N"],
    tol=Tol(rel=2e-5, abs=1e-5),
)


def clip_scale(
    partial: Array,
    index: NDArray[np.uint32],
    loss: Array,
    ring: Array,
    scale: Array,
    GRAD_CLIP: float,
    CLIP_EPS: float,
) -> tuple[Array, Array]:
    """Return the ring with the norm at `index`, and scale (1,).

    norm = sqrt(sum partial); scale = min(1, GRAD_CLIP / (norm + CLIP_EPS)), or 1
    where GRAD_CLIP is 0. Where the norm or loss[index] is not finite, or the old
    scale is negative, the new one is -1: the weights stay those of the last good
    step until the host writes another scale.
    """
    at = int(index[0]) % len(ring)
    norm = np.sqrt(partial.sum())
    ring = ring.copy()
    ring[at] = norm
    factor = min(1.0, GRAD_CLIP / (norm + CLIP_EPS)) if GRAD_CLIP > 0 else 1.0
    if scale[0] < 0 or not (np.isfinite(norm) and np.isfinite(loss[at])):
        factor = HALTED
    return ring, np.array([factor], partial.dtype)


CLIP_SCALE = Op(
    "clip_scale",
    reads={"partial": "N", "index": "1:u32", "loss": "S"},
    updates={"ring": "S", "scale": "1"},
    writes={},
    reference=clip_scale,
    attrs=("GRAD_CLIP", "CLIP_EPS"),
    flops=lambda d: d["N"],
)


def adamw_update(
    g: Array,
    scalars: Array,
    index: NDArray[np.uint32],
    scale: Array,
    w: Array,
    m: Array,
    v: Array,
    N_DECAY: int,
    BETA1: float,
    BETA2: float,
    ADAM_EPS: float,
    WEIGHT_DECAY: float,
) -> tuple[Array, Array, Array]:
    """Return the new w, m, v.

    scalars[index] holds lr, c1 = 1 / (1 - beta1^t), c2 = 1 / (1 - beta2^t). With
    g scaled: m' = beta1 m + (1 - beta1) g; v' = beta2 v + (1 - beta2) g^2;
    w' = w - lr (decay w + c1 m' / (sqrt(c2 v') + eps)); decay is WEIGHT_DECAY
    for the first N_DECAY elements and 0 for the rest. A negative scale changes
    nothing.
    """
    if scale[0] < 0:
        return w, m, v
    real = w.dtype.type
    lr, c1, c2 = scalars[int(index[0]) % len(scalars), :3]
    g = g * scale[0]
    m = real(BETA1) * m + real(1.0 - BETA1) * g
    v = real(BETA2) * v + real(1.0 - BETA2) * (g * g)
    decay = np.zeros_like(w)
    decay[:N_DECAY] = WEIGHT_DECAY
    step = c1 * m / (np.sqrt(c2 * v) + real(ADAM_EPS))
    return w - lr * (decay * w + step), m, v


ADAMW_UPDATE = Op(
    "adamw_update",
    reads={"g": "N", "scalars": "S 4", "index": "1:u32", "scale": "1"},
    updates={"w": "N", "m": "N", "v": "N"},
    writes={},
    reference=adamw_update,
    attrs=("N_DECAY", "BETA1", "BETA2", "ADAM_EPS", "WEIGHT_DECAY"),
    flops=lambda d: 16 * d["N"],
)

OPS = (SQNORM_FWD, CLIP_SCALE, ADAMW_UPDATE)
