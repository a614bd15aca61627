"""Batches gathered on the device, and the counter that drives a chunk of steps."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tabgrad.ops.contract import Op, Tol

Ids = NDArray[np.uint32]


def batch_fwd(corpus: Ids, offsets: Ids, index: Ids, R: int, B: int) -> tuple[Ids, Ids]:
    """Return tokens and next tokens of the windows at `offsets[index]`, as (R,)."""
    row = offsets[int(index[0]) % len(offsets)].astype(np.int64)
    at = row[:, None] + np.arange(R // B)
    return corpus[at].reshape(-1), corpus[at + 1].reshape(-1)


BATCH_FWD = Op(
    "batch_fwd",
    reads={"corpus": "N:u32", "offsets": "S B:u32", "index": "1:u32"},
    writes={"ids": "R:u32", "targets": "R:u32"},
    reference=batch_fwd,
    tol=Tol(rel=0, abs=0),
)


def step_advance(index: Ids) -> Ids:
    """Return the step counter plus one."""
    return index + np.uint32(1)


STEP_ADVANCE = Op(
    "step_advance",
    reads={},
    updates={"index": "1:u32"},
    writes={},
    reference=step_advance,
    tol=Tol(rel=0, abs=0),
)

OPS = (BATCH_FWD, STEP_ADVANCE)
