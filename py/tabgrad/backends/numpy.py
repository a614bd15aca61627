"""The numpy backend: runs each op's reference, in float32. The truth, and slow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tabgrad.backends.base import Progress, no_progress
from tabgrad.errors import BackendError
from tabgrad.ops import Call
from tabgrad.plan import Plan
from tabgrad.tensors import NUMPY_DTYPE, Array


class NumpyBackend:
    """Arrays are views of the plan's storages, so that placement is tested too."""

    name = "numpy"
    max_in_flight = 1
    is_grouped = False
    has_decode = True

    def __init__(self) -> None:
        """Make a backend with no plan."""
        self.adapter = f"numpy {np.__version__}"
        self._plan: Plan | None = None
        self._arrays: dict[str, Array] = {}

    async def prepare(self, plan: Plan, progress: Progress = no_progress) -> None:
        """Allocate the storages as zeros.

        Raises:
            BackendError: there is not enough memory.
        """
        self.free()
        try:
            memory = {n: np.zeros(b, np.uint8) for n, b in plan.storages.items()}
        except (MemoryError, ValueError) as error:  # numpy's words for "too large"
            raise BackendError(
                f"numpy cannot allocate the {plan.n_bytes:,} bytes of this plan; "
                "choose a smaller preset or batch_size"
            ) from error
        for name, tensor in plan.tensors.items():
            place = plan.places[name]
            view = memory[place.storage][place.offset : place.offset + tensor.n_bytes]
            typed = view.view(NUMPY_DTYPE[tensor.dtype])
            self._arrays[name] = typed.reshape(tensor.shape)
        self._plan = plan
        progress("arrays", 1, 1)

    async def run(
        self,
        program: str,
        n_steps: int,
        writes: Mapping[str, Array],
        reads: Sequence[str] = (),
    ) -> dict[str, Array]:
        """Run the references in order; see `Backend.run`."""
        if self._plan is None:
            raise BackendError("numpy: run called before prepare")
        for name, values in writes.items():
            await self.write(name, values)
        with np.errstate(all="ignore"):  # non-finite values are the trainer's to see
            for _ in range(n_steps):
                for call in self._plan.programs[program]:
                    self._call(call)
        return {name: self._arrays[name].copy() for name in reads}

    def _call(self, call: Call) -> None:
        inputs = {
            arg.name: self._arrays[call.args[arg.name]]
            for arg in call.op.args
            if arg.access != "write"
        }
        for name, value in call.op.run_reference(inputs, call.consts).items():
            target = self._arrays[call.args[name]]
            if name in call.adds:
                target += value
            else:
                target[...] = value

    async def write(self, tensor: str, values: Array, start: int = 0) -> None:
        """Write elements from `start` on."""
        flat = self._arrays[tensor].reshape(-1)
        flat[start : start + values.size] = values.reshape(-1)

    async def read(self, tensor: str, start: int = 0, count: int = -1) -> Array:
        """Return a copy of `count` elements from `start`, flat."""
        flat = self._arrays[tensor].reshape(-1)
        stop = None if count < 0 else start + count
        return flat[start:stop].copy()

    def free(self) -> None:
        """Drop the arrays."""
        self._plan = None
        self._arrays = {}
