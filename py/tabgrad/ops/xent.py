"""Cross-entropy of logits against the next token, its gradient and its mean."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tabgrad.ops.contract import Op, Vjp
from tabgrad.tensors import Array


def xent_fwd(logits: Array, targets: NDArray[np.uint32]) -> tuple[Array, Array]:
    """Return loss = lse - logits[target] and lse = log sum_v exp logits, each (R,)."""
    m = logits.max(axis=1)
    lse = m + np.log(np.exp(logits - m[:, None]).sum(axis=1))
    return lse - logits[np.arange(len(targets)), targets], lse


XENT_FWD = Op(
    "xent_fwd",
    reads={"logits": "R V", "targets": "R:u32"},
    writes={"loss": "R", "lse": "R"},
    reference=xent_fwd,
    vjp=(Vjp("xent_bwd"),),
    flops=lambda d: 5 * d["R"] * d["V"],
)


def xent_bwd(logits: Array, targets: NDArray[np.uint32], lse: Array) -> Array:
    """Return dlogits = (exp(logits - lse) - onehot(target)) / R.

    Forward: the mean over rows of lse - logits[target].
    """
    d = np.exp(logits - lse[:, None])
    d[np.arange(len(targets)), targets] -= 1
    mean: Array = d / logits.dtype.type(len(targets))
    return mean


XENT_BWD = Op(
    "xent_bwd",
    reads={"logits": "R V", "targets": "R:u32", "lse": "R"},
    writes={"dlogits": "R V"},
    reference=xent_bwd,
    flops=lambda d: 4 * d["R"] * d["V"],
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


def loss_mean(loss: Array, index: NDArray[np.uint32], ring: Array) -> Array:
    """Return the ring with the mean of loss at `index`, modulo its length."""
    ring = ring.copy()
    ring[int(index[0]) % len(ring)] = loss.mean()
    return ring


LOSS_MEAN = Op(
    "loss_mean",
    reads={"loss": "R", "index": "1:u32"},
    updates={"ring": "S"},
    writes={},
    reference=loss_mean,
    flops=lambda d: d["R"],
)

OPS = (XENT_FWD, XENT_BWD, XENT_FWD_BWD, LOSS_MEAN)
