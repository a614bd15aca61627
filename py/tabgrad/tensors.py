"""What a tensor is to a plan: a name, a shape, a dtype and a role."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Dtype = Literal["f32", "u32"]
Role = Literal["param", "grad", "state", "act", "io"]
Array = NDArray[Any]  # float32 or uint32; float64 where a test judges

NUMPY_DTYPE = {"f32": np.dtype(np.float32), "u32": np.dtype(np.uint32)}
ITEM_BYTES = 4  # both dtypes


@dataclass(frozen=True)
class Tensor:
    """A named array of a plan.

    Role: `param` weights, `grad` their gradients, `state` optimiser moments,
    `act` activations (memory is reused when dead), `io` what the host writes or
    reads.
    """

    name: str
    shape: tuple[int, ...]
    dtype: Dtype = "f32"
    role: Role = "act"

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def n_bytes(self) -> int:
        """Size in bytes."""
        return self.size * ITEM_BYTES


def padded_rows(vectors: Iterable[Array], width: int) -> Array:
    """Return vectors as the rows of a matrix, padded with zeros to a width."""
    return np.stack([np.pad(v, (0, width - len(v))) for v in vectors])
