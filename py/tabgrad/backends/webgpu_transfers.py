"""What crosses to and from a plan on a GPU: ranges of tensors, packed and checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabgrad.backends.id_bounds import check_ids
from tabgrad.backends.variant import Variant
from tabgrad.backends.webgpu_host import JsObject
from tabgrad.errors import BackendError
from tabgrad.ops import Call
from tabgrad.plan import Plan
from tabgrad.tensors import ITEM_BYTES, NUMPY_DTYPE, Array


@dataclass
class Loaded:
    """A plan on a device.

    Args:
        plan: the plan.
        bounds: what elements of index tensors must be below.
        number: storage -> its place in the player's list.
        buffers: storage -> GPUBuffer.
        rows: program -> its calls and the rows that do them.
        handle: what the player calls the plan.
    """

    plan: Plan
    bounds: Mapping[str, int]
    number: Mapping[str, int]
    buffers: Mapping[str, JsObject]
    rows: Mapping[str, Sequence[tuple[Call, Variant]]] = field(default_factory=dict)
    handle: JsObject = None

    def size(self, tensor: str) -> int:
        """Return the number of elements.

        Raises:
            BackendError: the plan has no such tensor.
        """
        if tensor not in self.plan.tensors:
            raise BackendError(f"webgpu: this plan has no tensor {tensor!r}")
        return self.plan.tensors[tensor].size

    def dtype(self, tensor: str) -> np.dtype[Any]:
        """Return the numpy dtype of a tensor."""
        return NUMPY_DTYPE[self.plan.tensors[tensor].dtype]

    def check_range(self, tensor: str, start: int, count: int) -> None:
        """Raise BackendError unless `count` elements from `start` are in a tensor."""
        size = self.size(tensor)
        if start < 0 or start + count > size:
            raise BackendError(
                f"{tensor}: got elements {start} to {start + count}, wanted 0 to {size}"
            )


@dataclass
class Transfers:
    """Rows of buffer, its byte, byte of the packed bytes, and how many bytes."""

    rows: list[tuple[int, int, int, int]] = field(default_factory=list)
    parts: list[NDArray[np.uint8]] = field(default_factory=list)
    n_bytes: int = 0

    def write(self, loaded: Loaded, tensor: str, values: Array, start: int) -> None:
        """Add values for the elements from `start` on."""
        self.read(loaded, tensor, start, values.size)
        check_ids(loaded.bounds, tensor, values)
        typed = np.ascontiguousarray(values, loaded.dtype(tensor))
        self.parts.append(typed.reshape(-1).view(np.uint8))

    def read(self, loaded: Loaded, tensor: str, start: int, count: int) -> None:
        """Add the range of `count` elements from `start` on."""
        loaded.check_range(tensor, start, count)
        place = loaded.plan.places[tensor]
        at, n_bytes = place.offset + start * ITEM_BYTES, count * ITEM_BYTES
        self.rows.append((loaded.number[place.storage], at, self.n_bytes, n_bytes))
        self.n_bytes += n_bytes
