"""The contiguous 90/10 split of a token array, and the windows in each part."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tabgrad.errors import CorpusError

TRAIN_TENTHS = 9


@dataclass(frozen=True)
class SplitText:
    """Tokens: the first `n_train` to train on, the rest held out.

    A window is `block_size` tokens and the same shifted by one, so it starts at 0
    to N - block_size - 1 of its part.
    """

    tokens: NDArray[np.uint32]
    n_train: int
    block_size: int

    @property
    def n_train_windows(self) -> int:
        """Legal starts in the training part, at least 1."""
        return self.n_train - self.block_size

    @property
    def n_val_windows(self) -> int:
        """Legal starts in the held-out part; 0 when there is no validation."""
        return max(0, len(self.tokens) - self.n_train - self.block_size)


def split_text(tokens: NDArray[np.uint32], block_size: int) -> SplitText:
    """Return the split: 90 % to train on, and at least one held-out window if any.

    A held-out part shorter than one window grows to one; where the rest could then
    not fill a training window, all tokens are trained on and nothing is held out.

    Raises:
        CorpusError: fewer than block_size + 1 tokens.
    """
    window = block_size + 1
    n = len(tokens)
    if n < window:
        advice = f"use block_size <= {n - 1} or add text" if n > 1 else "add text"
        raise CorpusError(
            f"the corpus has {n} tokens; this preset needs at least {window} "
            f"(block_size + 1): {advice}"
        )
    n_train = n * TRAIN_TENTHS // 10
    if n - n_train < window:
        n_train = n - window
    if n_train < window:
        n_train = n
    return SplitText(tokens, n_train, block_size)
