"""Initial weights, drawn above the backends so that all of them start equal."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tabgrad.model import Param
from tabgrad.philox import Stream, normals


def initial_weights(
    param: Param, number: int, seed: int, start: int = 0, count: int | None = None
) -> NDArray[np.float32]:
    """Return elements of a fresh weight, flat.

    Args:
        param: the weight.
        number: its position in `model.parameters`, the random sub-stream.
        seed: the run's seed.
        start: first element.
        count: how many; None for all that follow.

    Returns:
        (count,) float32: std times a standard normal, product in float32; or the
        weight's constant.
    """
    size = param.tensor.size - start if count is None else count
    if param.std == 0:
        return np.full(size, param.constant, np.float32)
    return np.float32(param.std) * normals(seed, Stream.WEIGHTS, number, start, size)
