"""Finds the fastest row of a loaded call that does as the base row does."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Protocol, TypeVar

from tabgrad.backends.selftest import deviation
from tabgrad.backends.variant import BASE, Variant
from tabgrad.errors import BackendError
from tabgrad.ops import Call
from tabgrad.tensors import Array

WARM_UP_MS = 2.0  # a device rests for a moment between two measurements
QUICK_MS, QUICK_ROUNDS = 0.3, 2  # a pass of the first look, and passes of each row
USUAL_GAIN = 8.0  # times as fast as the base row, of which the first look thinks
FINAL_MS, FINAL_ROUNDS = 1.2, 3  # of the last
FINALIST = 1.3  # times the fastest of the first look
DOUBT = 2.0  # the same for the base row, of which there is but one pass
MAX_FINALISTS = 4
MAX_REPEATS = 400  # in one pass
FEW_FLOPS = 1e8  # that any device does in a moment, and
MANY = 16  # times, too
LEAST_MS = 0.001  # shorter than any dispatch: keeps repeats finite
ROUNDED_MS = 0.1  # browsers round the device's clock to about this

T = TypeVar("T")


class Bench(Protocol):
    """Runs and times the rows of one call at a time."""

    async def compile(self, pairs: Sequence[tuple[Call, Variant]]) -> None:
        """Compile rows of calls; what does not compile fails in `load`."""

    def is_compiled(self, call: Call, rows: Sequence[Variant]) -> bool:
        """Return whether nothing is left to compile for a call to be loaded."""

    async def load(
        self, call: Call, rows: Sequence[Variant], *, is_cold: bool = False
    ) -> dict[str, str]:
        """Allocate and fill inputs; return row -> why it is refused.

        With `is_cold` calls are timed with their operands out of the cache.
        """

    async def wait(self, work: Awaitable[T]) -> T:
        """Return what some work returns; the device must not rest meanwhile."""

    async def can_evict(self) -> bool:
        """Return whether the device soon has other things in its cache."""

    async def suspects(self, rows: Sequence[str]) -> list[str]:
        """Return the rows whose outputs are not plainly those of the base row."""

    async def outputs(self, row: str) -> dict[str, Array]:
        """Return what a row writes, from the same inputs each time."""

    async def time_ms(
        self, warm_up: tuple[str, int], rows: Sequence[tuple[str, int]], rounds: int
    ) -> list[list[float]]:
        """Return milliseconds of each row's passes; rows take turns.

        Args:
            warm_up: row and repeats that run first, untimed.
            rows: row and its repeats in a pass.
            rounds: passes of each row.
        """

    def free(self) -> None:
        """Give everything back."""


@dataclass
class Race:
    """The rows of one call, on a bench where it is loaded.

    Args:
        bench: runs and times them.
        call: what they do.
        refused: row -> why it is not used.
        ms: row -> milliseconds a call; the fastest are timed best.
    """

    bench: Bench
    call: Call
    refused: dict[str, str]
    ms: dict[str, float] = field(default_factory=dict)
    _base_ms: float = 0.0

    async def run(self, names: Sequence[str]) -> Race:
        """Time rows, and hold them to the base row.

        Rows that deviate are moved to `refused`.

        Raises:
            BackendError: the base row is refused.
        """
        if BASE in self.refused:
            raise BackendError(f"kernel {self.call.op.name}: {self.refused[BASE]}")
        self.ms[BASE] = self._base_ms = await self._rough()
        others = [name for name in names if name != BASE]
        if others:
            await self._look(others)
            await self._final()
            fastest = min(self.ms, key=lambda name: self.ms[name])
            await self._hold(others)
            if fastest in self.refused:
                await self._final()
        return self

    async def _hold(self, names: Sequence[str]) -> None:
        """Refuse the rows that do not do as the base row does."""
        wanted: dict[str, Array] = {}
        for name in await self.bench.suspects(names):
            wanted = wanted or await self.bench.outputs(BASE)
            wrong = _first_wrong(self.call, await self.bench.outputs(name), wanted)
            if wrong:
                self.refused[name] = f"deviates from the base kernel: {wrong}"
                del self.ms[name]

    async def _rough(self) -> float:
        """Return about the milliseconds of the base row."""
        repeats = MANY if 0 < self.call.flops < FEW_FLOPS else 1
        ((ms,),) = await self.bench.time_ms((BASE, 1), [(BASE, repeats)], 1)
        if ms < ROUNDED_MS and repeats == 1:
            repeats = MANY
            ((ms,),) = await self.bench.time_ms((BASE, 1), [(BASE, repeats)], 1)
        return max(ms / repeats, LEAST_MS)

    async def _look(self, names: Sequence[str]) -> None:
        """Set about the milliseconds of each row but the base row."""
        likely = self._base_ms / USUAL_GAIN
        await self._time(names, _repeats(QUICK_MS, likely), QUICK_ROUNDS)
        best = min(self.ms.values())
        if best < likely / 2:  # passes were too short for the fast ones
            fast = [name for name in names if self.ms[name] < likely / 2]
            await self._time(fast, _repeats(QUICK_MS, best), QUICK_ROUNDS)

    async def _final(self) -> None:
        """Time the rows near the fastest anew; the base row wins here or not at all."""
        others = sorted(self.ms.keys() - {BASE}, key=lambda name: self.ms[name])
        if not others:
            return
        best = self.ms[others[0]]
        near = [name for name in others if self.ms[name] <= FINALIST * best]
        near = near[:MAX_FINALISTS]
        if self.ms[BASE] <= DOUBT * best:
            near.append(BASE)
        if len(near) > 1:
            await self._time(near, _repeats(FINAL_MS, best), FINAL_ROUNDS)

    async def _time(self, names: Sequence[str], repeats: int, rounds: int) -> None:
        """Set the median milliseconds of rows, on a warm device."""
        warm_up = (BASE, _repeats(WARM_UP_MS, self._base_ms))
        rows = [(name, repeats) for name in names]
        times = await self.bench.time_ms(warm_up, rows, rounds)
        for name, each in zip(names, times, strict=True):
            self.ms[name] = median(each) / repeats


def _repeats(pass_ms: float, call_ms: float) -> int:
    """Return how many calls last about `pass_ms`."""
    return max(1, min(int(pass_ms / max(call_ms, LEAST_MS)), MAX_REPEATS))


def _first_wrong(
    call: Call, got: Mapping[str, Array], wanted: Mapping[str, Array]
) -> str:
    """Return in words the first output that deviates, or ""."""
    for name, right in wanted.items():
        found = deviation(call, name, got[name], right)
        if not found.passes:
            return str(found)
    return ""
