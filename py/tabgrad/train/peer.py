"""The setting that benchmark pages of browser systems share, to compare them fairly.

One token stream, the same batches and the same initial weights in every system, so that
equal losses prove equal work. All of it comes from mulberry32, a generator of 32 bits
whose state grows by a constant: draw i is a function of the seed and i.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tabgrad.backends.base import Backend, Progress
from tabgrad.config import RunConfig
from tabgrad.model import Param
from tabgrad.plan import Plan
from tabgrad.tensors import Array
from tabgrad.text.split import SplitText
from tabgrad.train.trainer import Breathe, Trainer, yield_once

CORPUS_TOKENS = 20_000
CORPUS_SEED = 7
FOLLOWERS = 3  # tokens that may follow a token, equally likely
_STEP = 0x6D2B79F5
_LEAST_UNIFORM = 1e-9  # whose logarithm is still finite


def mulberry32(seed: int, start: int, count: int) -> NDArray[np.float64]:
    """Return draws `start` on, uniform in [0, 1).

    Source: Tommy Ettinger's mulberry32, public domain.
    """
    at = np.arange(start + 1, start + count + 1, dtype=np.uint64)
    s = ((np.uint64(seed) + at * np.uint64(_STEP)) & np.uint64(0xFFFFFFFF)).astype(
        np.uint32
    )
    t = (s ^ (s >> 15)) * (s | 1)
    t ^= t + (t ^ (t >> 7)) * (t | 61)
    uniform: NDArray[np.float64] = (t ^ (t >> 14)) / 2.0**32
    return uniform


def normals(seed: int, start: int, count: int, std: float) -> NDArray[np.float32]:
    """Return `count` normals (Box and Muller) from draws `start` on; count is even."""
    pairs = mulberry32(seed, start, count).reshape(-1, 2)
    radius = np.sqrt(-2 * np.log(np.maximum(_LEAST_UNIFORM, pairs[:, 0]))) * std
    angle = 2 * np.pi * pairs[:, 1]
    both = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    return both.reshape(-1).astype(np.float32)


def corpus(vocab_size: int) -> NDArray[np.uint32]:
    """Return the token stream: each token is followed by one of its followers."""
    n_table = FOLLOWERS * vocab_size
    draws = mulberry32(CORPUS_SEED, 0, n_table + CORPUS_TOKENS)
    table = (draws[:n_table] * vocab_size).astype(np.uint32)
    choices = (draws[n_table:] * FOLLOWERS).astype(np.int64)
    tokens = np.empty(CORPUS_TOKENS, np.uint32)
    token = 0
    for i, choice in enumerate(choices.tolist()):
        tokens[i] = token
        token = int(table[FOLLOWERS * token + choice])
    return tokens


class PeerTrainer(Trainer):
    """A run over the shared token stream, from the shared weights."""

    def __init__(
        self, config: RunConfig, backend: Backend, breathe: Breathe = yield_once
    ) -> None:
        """Make a run; the vocabulary is the config's, nothing is held out."""
        tokens = corpus(config.model.vocab_size)
        text = SplitText(tokens, len(tokens), config.model.block_size)
        super().__init__(config, text, backend, breathe)

    async def _draw_weights(self, plan: Plan, progress: Progress) -> None:
        seed, start = self.config.train.seed, 0
        for param in plan.params:
            await self.backend.write(param.name, _weights(param, seed, start))
            start += param.tensor.size if param.std else 0
            progress("weights", start, plan.n_params)

    def _offsets(self, steps: range) -> NDArray[np.uint32]:
        train = self.config.train
        size = train.batch_size
        draws = mulberry32(train.seed + 1, steps.start * size, len(steps) * size)
        starts = (draws * (self.text.n_train_windows - 1)).astype(np.uint32)
        return starts.reshape(len(steps), size)


def _weights(param: Param, seed: int, start: int) -> Array:
    shape = param.tensor.shape
    if not param.std:
        return np.full(shape, param.constant, np.float32)
    size = param.tensor.size
    return normals(seed, start, size, param.std).reshape(shape)
