"""Chooses kernels by timing them on the device, once for each device, and remembers.

For each distinct call of the training program every row that can do it is timed, the
fastest ones once more, and each is held to the base row at that very shape. A call of
another program is left the row that won at the sizes nearest to its own, held to the
base row likewise. A row that fails or deviates is reported, and not used. Rows take
turns on a device that never rests: an idle one runs at a fraction of its clocks, where
other rows win. Where a plan is larger than a cache, each call is timed with its
operands out of the cache.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

from tabgrad.backends.base import Progress
from tabgrad.backends.choice import Pick, call_key
from tabgrad.backends.race import Bench, Race
from tabgrad.backends.variant import BASE, Variant
from tabgrad.backends.variants import base_variant, fitting_variants
from tabgrad.ops import Call
from tabgrad.plan import Plan

CACHE_BYTES = 1 << 26  # more than what large GPUs have, and small ones have less
POLL_S = 0.005
BUDGET_S = 60.0  # calls left after it keep the base row until the next run


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


@dataclass(frozen=True)
class _Queue:
    """Calls that wait to be loaded, the costliest first.

    Args:
        calls: each call by its key.
        rows: those that are tried.
        compiling: what compiles them.
        left: keys of calls that were not loaded.
        is_cold: whether a step moves more than a cache holds.
    """

    calls: Mapping[str, Call]
    rows: Mapping[str, Sequence[Variant]]
    compiling: asyncio.Future[None]
    left: list[str]
    is_cold: bool

    async def load_next(self, bench: Bench) -> tuple[str, dict[str, str]]:
        """Load the costliest call that is compiled; return its key and `Bench.load`."""
        key = self._compiled(bench)
        while not key and not self.compiling.done():
            await asyncio.sleep(POLL_S)
            key = self._compiled(bench)
        key = key or self.left[0]
        self.left.remove(key)
        call, rows = self.calls[key], self.rows[key]
        return key, await bench.load(call, rows, is_cold=self.is_cold)

    def _compiled(self, bench: Bench) -> str:
        for key in self.left:
            if bench.is_compiled(self.calls[key], self.rows[key]):
                return key
        return ""


class Tuner:
    """Chooses the rows of plans on one device."""

    def __init__(
        self,
        benches: Sequence[Bench],
        store: Store,
        identity: str,
        device: tuple[frozenset[str], int],
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        """Make a tuner that has measured nothing.

        Args:
            benches: run and time rows in turn: with two, a call is loaded while the
                one before is timed.
            store: where results are kept.
            identity: what they hold for: adapter, browser and build.
            device: its features and its bytes of workgroup memory.
            clock: seconds.
        """
        self._benches = benches
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
        is_large = sum(plan.storages.values()) > CACHE_BYTES
        is_cold = is_large and await self._benches[0].can_evict()

        def told() -> None:
            progress("tuning", sum(key in tuned for key in missing), len(missing))

        trained = {call_key(call) for call in plan.programs.get("train", ())}
        try:
            for is_first in (True, False):
                calls = {k: c for k, c in missing.items() if (k in trained) == is_first}
                choice = self._rows if is_first else self._likely_rows
                rows = {key: choice(call) for key, call in calls.items()}
                pairs = [(calls[key], row) for key in calls for row in rows[key]]
                if is_first:  # those that the others are held to are known, too
                    others = [c for k, c in missing.items() if k not in trained]
                    pairs += [(c, base_variant(c.op.name)) for c in others]
                compiling = asyncio.ensure_future(self._benches[0].compile(pairs))
                queue = _Queue(calls, rows, compiling, list(calls), is_cold)
                try:
                    await self._tune_each(queue, tuned, told, end)
                finally:
                    await compiling
                if self._is_skipped or self._clock() > end:
                    return
        finally:
            for bench in self._benches:
                bench.free()
            await self._save()
        told()

    async def _tune_each(
        self,
        queue: _Queue,
        tuned: dict[str, Tuned],
        told: Callable[[], None],
        end: float,
    ) -> None:
        """Tune calls until `end`; each is loaded while the one before is timed."""
        benches = itertools.cycle(self._benches)
        bench = next(benches)
        loading: asyncio.Task[tuple[str, dict[str, str]]] | None = None
        try:
            while queue.left or loading:
                told()
                if self._is_skipped or self._clock() > end:
                    return
                key, refused = await bench.wait(loading or queue.load_next(bench))
                other, loading = next(benches), None
                if queue.left and other is not bench:
                    loading = asyncio.ensure_future(queue.load_next(other))
                call, rows = queue.calls[key], queue.rows[key]
                tuned[key] = await self._tune(bench, call, rows, refused)
                bench = other
        finally:
            if loading:
                await asyncio.gather(loading, return_exceptions=True)

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
        rows = [row for row in rows if row.name == BASE or row.is_likely(call.consts)]
        needs_no_spare = any(row.needs for row in rows)
        return [row for row in rows if not (row.is_spare and needs_no_spare)]

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

    async def _tune(
        self,
        bench: Bench,
        call: Call,
        rows: Sequence[Variant],
        refused: Mapping[str, str],
    ) -> Tuned:
        """Return how the rows of a loaded call did."""
        names = [row.name for row in rows if row.name not in refused]
        result = await Race(bench, call, dict(refused)).run(names)
        _, _, sizes = call_key(call).partition(" ")
        row = min(result.ms, key=lambda name: result.ms[name])
        return Tuned(call.op.name, sizes, row, result.ms, result.refused)


def _distance(call: Call, sizes: str) -> float:
    """Return how far other sizes, as in `Tuned.sizes`, are from a call's: of logs."""
    words = (word.partition("=") for word in sizes.split())
    other = {name: float(value) for name, _, value in words if name in call.op.dims}
    own = {name: float(call.consts[name]) for name in other}
    return sum(abs(math.log(own[name] / other[name])) for name in other)
