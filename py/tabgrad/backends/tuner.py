"""Chooses kernels by timing them on the device, once for each device, and remembers.

For each distinct call of the training program every row that can do it is timed; the
fastest ones are then held to the base row at that very shape, and timed again. A call
of another program is left the row that won at the sizes nearest to its own, held to the
base row likewise. A row that fails or deviates is reported and never used. Rows take
turns on a device that never rests: an idle one runs at a fraction of its clocks, where
other rows win.
"""

from __future__ import annotations

import asyncio
import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from statistics import median
from typing import Any, Protocol

from tabgrad.backends.base import Progress
from tabgrad.backends.choice import Pick, call_key
from tabgrad.backends.selftest import deviation, is_near
from tabgrad.backends.variant import BASE, Variant
from tabgrad.backends.variants import base_variant, fitting_variants
from tabgrad.errors import BackendError
from tabgrad.ops import Call
from tabgrad.plan import Plan
from tabgrad.tensors import Array

BUDGET_S = 60.0  # calls left after it keep the base row until the next run
WARM_UP_MS = 2.0  # a device rests for a moment between two measurements
QUICK_MS, QUICK_ROUNDS = 0.3, 2  # a pass of the first look, and passes of each row
FINAL_MS, FINAL_ROUNDS = 1.0, 7  # of the last
FINALIST = 1.3  # times the fastest of the first look
MAX_FINALISTS = 4
MAX_REPEATS = 400  # in one pass
LEAST_MS = 0.001  # shorter than any dispatch: keeps repeats finite
ROUNDED_MS = 0.1  # browsers round the device's clock to about this


class Bench(Protocol):
    """Runs and times the rows of one call at a time."""

    async def compile(self, pairs: Sequence[tuple[Call, Variant]]) -> None:
        """Compile rows of calls, in order; what does not compile fails in `load`."""

    async def load(self, call: Call, rows: Sequence[Variant]) -> dict[str, str]:
        """Allocate and fill inputs; return row -> why it is refused."""

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


class Store(Protocol):
    """Keeps texts from one visit to the next."""

    async def get(self, key: str) -> str | None:
        """Return the text kept under a key."""

    async def put(self, key: str, text: str) -> None:
        """Keep a text under a key; an empty text forgets it."""


@dataclass(frozen=True)
class Tuned:
    """How the rows of a call did.

    Args:
        op: of the call.
        sizes: its constants, as text.
        row: the fastest, which is used.
        ms: row -> milliseconds a call; the fastest are timed best.
        refused: row -> why it is not used.
    """

    op: str
    sizes: str
    row: str
    ms: dict[str, float]
    refused: dict[str, str] = field(default_factory=dict)


class Tuner:
    """Chooses the rows of plans on one device."""

    def __init__(
        self,
        bench: Bench,
        store: Store,
        identity: str,
        device: tuple[frozenset[str], int],
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        """Make a tuner that has measured nothing.

        Args:
            bench: runs and times rows.
            store: where results are kept.
            identity: what they hold for: adapter, browser and build.
            device: its features and its bytes of workgroup memory.
            clock: seconds.
        """
        self._bench = bench
        self._store = store
        self.identity = identity
        self._device = device
        self._clock = clock
        self._tuned: dict[str, Tuned] | None = None
        self._keys: list[str] = []  # of the last plan
        self._is_skipped = False
        self.seconds = 0.0  # that the last plan's tuning took

    async def choose(self, plan: Plan, progress: Progress) -> Pick:
        """Tune what is not known yet, and return what gives the row of each call."""
        tuned = await self._known()
        calls = self._calls(plan)
        self._keys = list(calls)
        missing = {key: call for key, call in calls.items() if key not in tuned}
        start = self._clock()
        if missing:
            await self._tune_all(plan, missing, tuned, progress)
        self.seconds = self._clock() - start
        return self._pick

    async def _tune_all(
        self,
        plan: Plan,
        missing: Mapping[str, Call],
        tuned: dict[str, Tuned],
        progress: Progress,
    ) -> None:
        """Tune the calls of training by all their rows, then the others by two each."""
        self._is_skipped = False
        end = self._clock() + BUDGET_S
        trained = {call_key(call) for call in plan.programs.get("train", ())}
        try:
            for is_first in (True, False):
                calls = {k: c for k, c in missing.items() if (k in trained) == is_first}
                choice = self._rows if is_first else self._likely_rows
                rows = {key: choice(call) for key, call in calls.items()}
                pairs = [(calls[key], row) for key in calls for row in rows[key]]
                compiling = asyncio.ensure_future(self._bench.compile(pairs))
                try:
                    for key, call in calls.items():
                        done = sum(k in tuned for k in missing)
                        progress("tuning", done, len(missing))
                        if self._is_skipped or self._clock() > end:
                            return
                        tuned[key] = await self._tune(call, rows[key])
                finally:
                    await compiling
        finally:
            self._bench.free()
            await self._save()
        progress("tuning", len(missing), len(missing))

    def cut_short(self) -> None:
        """End the tuning under way: the calls left take their base rows this time."""
        self._is_skipped = True

    async def forget(self) -> None:
        """Forget all results: the next plan is tuned anew."""
        self._tuned = {}
        await self._store.put(self.identity, "")

    async def table(self) -> list[dict[str, Any]]:
        """Return how the rows of the last plan's calls did, or all that are known."""
        tuned = await self._known()
        keys = [key for key in self._keys if key in tuned] or list(tuned)
        return [asdict(tuned[key]) for key in keys]

    def _pick(self, _: str, call: Call) -> Variant:
        tuned = (self._tuned or {}).get(call_key(call))
        rows = self._rows(call)
        named = [row for row in rows if tuned and row.name == tuned.row]
        return named[0] if named else base_variant(call.op.name)

    def _rows(self, call: Call) -> list[Variant]:
        """Return the rows that may be the fastest of a call, the base row first."""
        rows = fitting_variants(call.op.name, call.consts, *self._device)
        return [row for row in rows if row.name == BASE or row.is_likely(call.consts)]

    def _likely_rows(self, call: Call) -> list[Variant]:
        """Return the base row, and the row that won at the nearest sizes."""
        known = [t for t in (self._tuned or {}).values() if t.op == call.op.name]
        nearest = min(known, key=lambda t: _distance(call, t.sizes), default=None)
        names = {BASE, nearest.row if nearest else BASE}
        return [row for row in self._rows(call) if row.name in names]

    def _calls(self, plan: Plan) -> dict[str, Call]:
        """Return the distinct calls with a choice, the costliest first."""
        calls: dict[str, Call] = {}
        cost: dict[str, float] = {}
        for program, program_calls in plan.programs.items():
            for call in program_calls:
                key = call_key(call)
                elements = sum(plan.tensors[t].size for t in call.args.values())
                weight = 1.0 if program == "train" else 0.01
                cost[key] = cost.get(key, 0) + weight * (call.flops + 8 * elements)
                if key not in calls and len(self._rows(call)) > 1:
                    calls[key] = call
        return dict(sorted(calls.items(), key=lambda pair: -cost[pair[0]]))

    async def _known(self) -> dict[str, Tuned]:
        if self._tuned is None:
            text = await self._store.get(self.identity)
            rows: Mapping[str, Any] = json.loads(text) if text else {}
            self._tuned = {key: Tuned(**row) for key, row in rows.items()}
        return self._tuned

    async def _save(self) -> None:
        rows = {key: asdict(tuned) for key, tuned in (self._tuned or {}).items()}
        await self._store.put(self.identity, json.dumps(rows))

    async def _tune(self, call: Call, rows: Sequence[Variant]) -> Tuned:
        refused = await self._bench.load(call, rows)
        if BASE in refused:
            raise BackendError(f"kernel {call.op.name}: {refused[BASE]}")
        names = [row.name for row in rows if row.name not in refused]
        base_ms = await self._rough(BASE)
        ms = await self._look(names, base_ms)
        right = await self._right(call, sorted(ms, key=lambda r: ms[r]), ms, refused)
        ms = {name: t for name, t in ms.items() if name not in refused}
        if len(right) > 1:
            repeats = _repeats(FINAL_MS, min(ms[name] for name in right))
            timed = [(name, repeats) for name in right]
            ms |= await self._times(base_ms, timed, FINAL_ROUNDS)
        _, _, sizes = call_key(call).partition(" ")
        row = min(right, key=lambda r: ms[r])
        return Tuned(call.op.name, sizes, row, ms, refused)

    async def _right(
        self,
        call: Call,
        names: Sequence[str],
        ms: Mapping[str, float],
        refused: dict[str, str],
    ) -> list[str]:
        """Return the fastest rows that do as the base row does, or the base row.

        Rows that do not are added to `refused`.
        """
        right: list[str] = []
        wanted = await self._bench.outputs(BASE)
        for name in names:
            if len(right) == MAX_FINALISTS or (
                right and ms[name] > FINALIST * ms[right[0]]
            ):
                break
            if name != BASE:
                got = await self._bench.outputs(name)
                wrong = _first_wrong(call, got, wanted)
                if wrong:
                    refused[name] = f"deviates from the base kernel: {wrong}"
                    continue
            right.append(name)
        return right

    async def _look(self, names: Sequence[str], base_ms: float) -> dict[str, float]:
        """Return about the milliseconds of a call by each row."""
        repeats = _repeats(QUICK_MS, base_ms)
        timed = [(name, repeats) for name in names]
        ms = await self._times(base_ms, timed, QUICK_ROUNDS)
        best = min(ms.values())
        if best < base_ms / 2:  # passes were too short for the fast ones: look again
            repeats = _repeats(QUICK_MS, best)
            fast = [(n, repeats) for n in names if ms[n] < base_ms / 2]
            ms |= await self._times(base_ms, fast, QUICK_ROUNDS)
        return ms

    async def _rough(self, name: str) -> float:
        """Return about the milliseconds of a call."""
        repeats = 1
        ((ms,),) = await self._bench.time_ms((name, 1), [(name, repeats)], 1)
        if ms < ROUNDED_MS:
            repeats = 16
            ((ms,),) = await self._bench.time_ms((name, 1), [(name, repeats)], 1)
        return max(ms / repeats, LEAST_MS)

    async def _times(
        self, base_ms: float, rows: Sequence[tuple[str, int]], rounds: int
    ) -> dict[str, float]:
        """Return row -> median milliseconds a call, on a warm device."""
        warm_up = (BASE, _repeats(WARM_UP_MS, base_ms))
        times = await self._bench.time_ms(warm_up, rows, rounds)
        pairs = zip(rows, times, strict=True)
        return {name: median(each) / repeats for (name, repeats), each in pairs}


def _repeats(pass_ms: float, call_ms: float) -> int:
    """Return how many calls last about `pass_ms`."""
    return max(1, min(int(pass_ms / max(call_ms, LEAST_MS)), MAX_REPEATS))


def _distance(call: Call, sizes: str) -> float:
    """Return how far other sizes, as in `Tuned.sizes`, are from a call's: of logs."""
    words = (word.partition("=") for word in sizes.split())
    other = {name: float(value) for name, _, value in words if name in call.op.dims}
    own = {name: float(call.consts[name]) for name in other}
    return sum(abs(math.log(own[name] / other[name])) for name in other)


def _first_wrong(
    call: Call, got: Mapping[str, Array], wanted: Mapping[str, Array]
) -> str:
    """Return in words the first output that deviates, or ""."""
    for name, right in wanted.items():
        if is_near(call, got[name], right):
            continue
        found = deviation(call, name, got[name], right)
        if not found.passes:
            return str(found)
    return ""
