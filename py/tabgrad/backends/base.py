"""The contract of a backend."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from tabgrad.plan import Plan
from tabgrad.tensors import Array

Progress = Callable[[str, int, int], None]  # what, done, total


def no_progress(what: str, done: int, total: int) -> None:
    """Ignore progress."""


class Backend(Protocol):
    """Runs plans. One plan at a time; `free` ends its use and may be called twice."""

    name: str  # "numpy", "webgpu" or "wasm"
    adapter: str  # what does the work, for people
    max_in_flight: int  # calls of `run` worth having under way at once
    is_grouped: bool  # whether plans are best grouped; see `build_plan`
    has_decode: bool  # whether a row costs less than a window; see `build_plan`

    async def prepare(self, plan: Plan, progress: Progress = no_progress) -> None:
        """Allocate and compile all that the plan needs; memory starts as zeros.

        Raises:
            BackendError: the device cannot.
        """

    async def run(
        self,
        program: str,
        n_steps: int,
        writes: Mapping[str, Array],
        reads: Sequence[str] = (),
    ) -> dict[str, Array]:
        """Write tensors whole, run a program `n_steps` times, return tensors read.

        Calls take effect in the order they are made, also when several are under
        way; each reads what its own steps wrote.

        Raises:
            BackendError: a kernel failed; its name is in the message.
        """

    async def write(self, tensor: str, values: Array, start: int = 0) -> None:
        """Write elements `start` on of a tensor (flat)."""

    async def read(self, tensor: str, start: int = 0, count: int = -1) -> Array:
        """Return `count` elements (all that follow if -1) from `start`, flat."""

    def free(self) -> None:
        """Give back everything that `prepare` took."""


@dataclass(frozen=True)
class Draw:
    """std times the normals of a random stream, from the first on, as float32."""

    seed: int
    stream: int
    sub: int
    std: float

    @property
    def words(self) -> tuple[int, int, int, int]:
        """Seed (low, high), sub-stream and stream, 32 bits each."""
        return (self.seed & 0xFFFFFFFF, self.seed >> 32, self.sub, self.stream)


@runtime_checkable
class DrawsNormals(Protocol):
    """A backend that draws weights where they lie, so that no copy crosses."""

    async def fill_normals(self, tensor: str, draw: Draw) -> None:
        """Fill a tensor with float32(std) times `philox.normals`, to the bit."""
