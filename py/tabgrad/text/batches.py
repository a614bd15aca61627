"""Where the windows of each batch start; a pure function of seed and step."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tabgrad.philox import Stream, first_words
from tabgrad.text.split import SplitText


def train_offsets(
    text: SplitText, seed: int, steps: range, batch_size: int
) -> NDArray[np.uint32]:
    """Return (len(steps), batch_size) starts of the windows of consecutive steps.

    Window b starts at word_b * n_windows >> 32, word_b from the batch stream with
    the step as sub-stream.
    """
    w = first_words(seed, Stream.BATCHES, steps, batch_size).astype(np.uint64)
    return (w * np.uint64(text.n_train_windows) >> np.uint64(32)).astype(np.uint32)


def eval_offsets(
    text: SplitText, n_batches: int, batch_size: int
) -> NDArray[np.uint32]:
    """Return (n_batches, batch_size) starts spread evenly over the held-out part.

    The same for every evaluation, so that two validation losses are comparable.
    """
    last = text.n_val_windows - 1
    count = n_batches * batch_size
    spread = np.arange(count, dtype=np.int64) * last // max(1, count - 1)
    return (text.n_train + spread).astype(np.uint32).reshape(n_batches, batch_size)
