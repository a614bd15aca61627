"""Gives a plan's weights their initial values, drawn by what is fast at it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

import numpy as np

from tabgrad.backends.base import Backend, Draw, DrawsNormals, Progress
from tabgrad.init import initial_weights
from tabgrad.model import Param
from tabgrad.philox import Stream
from tabgrad.plan import Plan
from tabgrad.tensors import ITEM_BYTES, Array

MANY_WEIGHTS = 1 << 23  # 0.1 us each by numpy in a tab; an engine starts in 0.1 s
_WRITE_FLOATS = 1 << 22  # weights are written in slices of 16 MiB


class DrawingEngine(Protocol):
    """Memory that can be filled with normals; offsets are bytes."""

    def fill_normals(self, offset: int, count: int, draw: Draw) -> None:
        """Draw floats into it, the bits of `philox.normals`."""

    def read(self, offset: int, into: Array) -> None:
        """Fill a contiguous array from it."""

    def free(self) -> None:
        """Let go of it."""


# Opens one with so many bytes; None where there is none.
Borrow = Callable[[int], Awaitable[DrawingEngine | None]]


async def borrow_nothing(n_bytes: int) -> None:
    """Have no engine to lend."""


async def draw_weights(
    backend: Backend, plan: Plan, seed: int, progress: Progress, borrow: Borrow
) -> None:
    """Write all weights of a plan.

    A backend that draws them itself does so. For another one, many weights are drawn
    in a borrowed engine and copied, few, or where there is no engine, by numpy: each
    way gives the same bits.

    Args:
        backend: has prepared the plan.
        plan: whose weights these are.
        seed: the run's.
        progress: told of weights, in numbers.
        borrow: opens an engine, which is freed at the end.

    Raises:
        BackendError: the backend or the engine failed.
    """
    engine = None
    if plan.n_params >= MANY_WEIGHTS and not isinstance(backend, DrawsNormals):
        largest = max(param.tensor.size for param in plan.params)
        engine = await borrow(ITEM_BYTES * largest)
    done = 0
    try:
        for number, param in enumerate(plan.params):
            await _draw(backend, engine, param, number, seed)
            done += param.tensor.size
            progress("weights", done, plan.n_params)
    finally:
        if engine is not None:
            engine.free()


async def _draw(
    backend: Backend, engine: DrawingEngine | None, param: Param, number: int, seed: int
) -> None:
    size = param.tensor.size
    draw = Draw(seed, Stream.WEIGHTS, number, param.std)
    if param.std != 0 and isinstance(backend, DrawsNormals):
        await backend.fill_normals(param.name, draw)
        return
    borrowed = engine if param.std != 0 else None
    if borrowed is not None:
        borrowed.fill_normals(0, size, draw)
    for start in range(0, size, _WRITE_FLOATS):
        count = min(_WRITE_FLOATS, size - start)
        if borrowed is not None:
            values: Array = np.empty(count, np.float32)
            borrowed.read(ITEM_BYTES * start, values)
        else:
            values = initial_weights(param, number, seed, start, count)
        await backend.write(param.name, values, start)
