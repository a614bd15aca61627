"""Runs and times rows of the table of kernels on a GPU, for the tuner."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import replace
from statistics import median
from typing import TypeVar

import numpy as np

from tabgrad.backends.base import Progress, no_progress
from tabgrad.backends.choice import Pick, call_key
from tabgrad.backends.probes import COPY, FMA, PROBES
from tabgrad.backends.product_variants import PRODUCTS
from tabgrad.backends.row_check import HOLD, RowCheck, is_near
from tabgrad.backends.variant import Variant
from tabgrad.backends.webgpu import Part, WebgpuBackend
from tabgrad.backends.webgpu_host import GpuHost
from tabgrad.backends.webgpu_kernels import Pipelines
from tabgrad.backends.wgsl import Kernel, assemble_passes
from tabgrad.dims import resolve_shape
from tabgrad.errors import BackendError
from tabgrad.ops import Call, Const, Op
from tabgrad.ops.cases import case_call, case_inputs
from tabgrad.plan import Plan, single_call_plan
from tabgrad.tensors import Array, Tensor

MAX_FLAT = 1 << 22  # elements of a flat argument: its time is linear beyond
MEMBERS_OF_FLAT = 9  # times as many in all arguments of a group: whole up to Mega
BUSY_SIZES: dict[str, Const] = {"N": 1 << 16, "ITERS": 64}  # a moment on any device
BUSY_MS = 4.0  # of the passes that keep it busy: long beside the way there and back
MAX_BUSY = 1000  # calls of such a pass
EVICTING: dict[str, Const] = {"N": 1 << 23}  # reads 32 MiB, writes 32: caches hold less
EVICT = "evict"
EVICTS = 4  # of the pass that tells how long one takes
MAX_EVICT_MS = 0.2  # with slower memory tuning would take minutes
COLD_PASS_MS = 6.0  # that evicting may take in a pass
POOL = 100_003  # a prime: rows of an array do not repeat each other
LEAST_MS = 0.1  # browsers round the device's clock to about this

T = TypeVar("T")


def _probe(op: Op) -> Variant:
    return next(row for row in PROBES if row.op == op.name)


def _evicting() -> tuple[Call, dict[str, Tensor]]:
    """Return the call that puts other things in the cache, and its tensors."""
    call, tensors = case_call(COPY, EVICTING, False)
    name = {arg: f"{EVICT}.{arg}" for arg in call.args}
    own = {name[arg]: replace(t, name=name[arg]) for arg, t in tensors.items()}
    return replace(call, args=name), own


class _RowByProgram:
    """Gives each program its own row, so that one plan compares them.

    `own` are calls with rows of their own, by their ids.
    """

    def __init__(self, rows: Mapping[str, Variant]) -> None:
        self.rows = rows
        self.own: Mapping[int, Variant] = {}

    async def choose(self, plan: Plan, progress: Progress) -> Pick:
        return self._row

    def _row(self, program: str, call: Call) -> Variant:
        return self.own.get(id(call)) or self.rows[program]


class Multiplier:
    """Multiplies while the host works, for an idle device lowers its clocks."""

    def __init__(self, host: GpuHost) -> None:
        """Make one that has compiled nothing."""
        row = _probe(FMA)
        call, tensors = case_call(FMA, BUSY_SIZES, False)
        self._plan = single_call_plan(call, tensors)
        (program,) = self._plan.programs
        self._backend = WebgpuBackend(host, _RowByProgram({program: row}))
        self._part = Part(program, range(1), 1)
        self._is_ready = False

    async def run_during(self, work: Awaitable[T]) -> T:
        """Return what some work returns, and multiply until it does."""
        task: asyncio.Future[T] = asyncio.ensure_future(work)
        try:
            while not task.done():
                await self._multiply()
        finally:
            await asyncio.wait([task])
        return task.result()

    async def _multiply(self) -> None:
        if not self._is_ready:
            await self._backend.prepare(self._plan)
            self._is_ready = True
        ((ms,),) = await self._backend.time_ms(self._part, [self._part], 1)
        repeats = int(self._part.repeats * BUSY_MS / max(ms, LEAST_MS))
        self._part = replace(self._part, repeats=max(1, min(repeats, MAX_BUSY)))

    def free(self) -> None:
        """Give everything back."""
        self._backend.free()
        self._is_ready = False


class _Pool:
    """Normal numbers that come again after a while: large arrays cost no time."""

    def __init__(self) -> None:
        self._pool = np.random.default_rng(1).standard_normal(POOL, np.float32)
        self._at = 0

    def draw(self, shape: tuple[int, ...]) -> Array:
        """Return an array of the next numbers."""
        size = math.prod(shape)
        turned = np.roll(self._pool, -self._at)
        self._at = (self._at + size) % POOL
        return np.resize(turned, shape)


class GpuBench:
    """One call at a time on a device of its own backend; see `race.Bench`."""

    def __init__(
        self,
        host: GpuHost,
        max_flat: int = MAX_FLAT,
        beside: GpuBench | None = None,
    ) -> None:
        """Make a bench with nothing loaded.

        Args:
            host: the device.
            max_flat: see `limited`.
            beside: a bench that takes turns with this one, and shares its kernels.
        """
        self._max_flat = max_flat
        self._chooser = _RowByProgram({})
        self.pipelines: Pipelines = (
            beside.pipelines if beside else Pipelines(host, keeps_all=True)
        )
        self.multiplier: Multiplier = beside.multiplier if beside else Multiplier(host)
        self._backend = WebgpuBackend(host, self._chooser, self.pipelines)
        self._kernels: dict[tuple[str, str], tuple[Kernel, ...]] = (
            beside._kernels if beside else {}
        )
        self._pool = _Pool()
        self._inputs: dict[str, Array] = {}
        self._check: RowCheck | None = None
        self._is_cold = False
        self._first: GpuBench = beside or self
        self.evict_ms = 0.0  # of the first bench

    async def compile(self, pairs: Sequence[tuple[Call, Variant]]) -> None:
        """Compile rows of calls; what does not compile fails in `load`.

        Products come last: they are long, and the other calls can be timed meanwhile.
        """
        ordered = sorted(pairs, key=lambda pair: pair[1].op in PRODUCTS)
        await self.pipelines.compile_ahead(
            (kernel, call.op)
            for call, row in ordered
            for kernel in self._kernels_of(call, row)
        )

    def is_compiled(self, call: Call, rows: Sequence[Variant]) -> bool:
        """Return whether nothing is left to compile for a call to be loaded."""
        kernels = [self._kernels.get((call_key(call), row.name)) for row in rows]
        is_under_way = self.pipelines.is_under_way
        return all(each and not any(map(is_under_way, each)) for each in kernels)

    def _kernels_of(self, call: Call, row: Variant) -> tuple[Kernel, ...]:
        kernels = assemble_passes(self._limited(call), row)
        self._kernels[call_key(call), row.name] = kernels
        return kernels

    def _limited(self, call: Call) -> Call:
        return replace(call, consts=limited(call.op, call.consts, self._max_flat))

    async def wait(self, work: Awaitable[T]) -> T:
        """Return what some work returns; the device multiplies meanwhile."""
        return await self.multiplier.run_during(work)

    async def load(
        self, call: Call, rows: Sequence[Variant], *, is_cold: bool = False
    ) -> dict[str, str]:
        """Allocate and fill inputs; return row -> why it is refused.

        Args:
            call: what to do.
            rows: how.
            is_cold: whether the call finds its operands out of the cache when it is
                timed, as in a step that moves more than a cache holds.
        """
        self._is_cold = is_cold
        consts = self._limited(call).consts
        whole, tensors = case_call(call.op, consts, False)
        check = RowCheck(replace(whole, adds=call.adds), tensors, rows)
        refused = await self._prepare(check)
        if len(refused) == len(rows):
            return refused
        check = self._loaded()
        self._inputs = case_inputs(call.op, consts, self._pool.draw)
        read = {name: self._inputs[name] for name in check.call.tensors_read()}
        await self._backend.write_all({**read, **check.inputs(read)})
        return refused

    async def _prepare(self, check: RowCheck) -> dict[str, str]:
        """Load the rows together, or those that load alone."""
        try:
            await self._load(check)
        except BackendError as error:
            if len(check.rows) == 1:
                return {check.rows[0].name: str(error)}
        else:
            return {}
        refused: dict[str, str] = {}
        for row in check.rows:
            refused |= await self._prepare(replace(check, rows=[row]))
        right = [row for row in check.rows if row.name not in refused]
        if right:
            await self._load(replace(check, rows=right))
        return refused

    async def _load(self, check: RowCheck) -> None:
        self._check = check
        self._chooser.rows = {row.name: row for row in check.rows}
        tensors = {**check.tensors, **check.more_tensors()}
        first: list[tuple[Call, Variant]] = []
        if self._is_cold:
            copy, copied = _evicting()
            tensors |= copied
            first = [(copy, _probe(COPY))]
        held = check.program()
        own = [*first, *held]
        self._chooser.own = {id(call): row for call, row in own}
        evict = [call for call, _ in first]
        programs = {name: (*evict, check.call) for name in self._chooser.rows}
        programs[HOLD] = tuple(call for call, _ in held)
        programs[EVICT] = tuple(evict)
        plan = single_call_plan(check.call, tensors)
        await self._backend.prepare(replace(plan, programs=programs), no_progress)

    async def can_evict(self) -> bool:
        """Return whether the device soon has other things in its cache."""
        copy, tensors = _evicting()
        self._chooser.rows, self._chooser.own = {"op": _probe(COPY)}, {}
        try:
            await self._backend.prepare(single_call_plan(copy, tensors))
        except BackendError:
            return False  # no room for it: calls are timed as they come
        once = Part("op", range(1), 1)
        often = replace(once, repeats=EVICTS)
        ((ms,),) = await self._backend.time_ms(once, [often], 1)
        self._backend.free()
        self.evict_ms = max(ms / EVICTS, LEAST_MS / EVICTS)
        return self.evict_ms <= MAX_EVICT_MS

    async def suspects(self, rows: Sequence[str]) -> list[str]:
        """Return the rows whose outputs are not plainly those of the base row."""
        check = self._loaded()
        if not check.is_possible:
            return list(rows)
        founds = {row: check.founds(row) for row in rows}
        names = [name for of_row in founds.values() for name in of_row]
        found = await self._backend.run(HOLD, 1, {}, names)
        tol = check.call.op.tol
        return [
            row
            for row, names in founds.items()
            if not all(is_near(found[name], tol) for name in names)
        ]

    async def outputs(self, row: str) -> dict[str, Array]:
        """Return what a row writes, from the same inputs each time."""
        names = [arg.name for arg in self._loaded().call.op.outputs]
        writes = {name: self._inputs[name] for name in names}
        return await self._backend.run(row, 1, writes, names)

    def _loaded(self) -> RowCheck:
        if self._check is None:
            raise BackendError("tuner: asked for outputs before a call was loaded")
        return self._check

    async def time_ms(
        self, warm_up: tuple[str, int], rows: Sequence[tuple[str, int]], rounds: int
    ) -> list[list[float]]:
        """Return milliseconds of each row's passes; rows take turns."""
        first, *parts = (self._part(name, n) for name, n in (warm_up, *rows))
        if not self._is_cold:
            return await self._backend.time_ms(first, parts, rounds)
        evict_ms = self._first.evict_ms
        most = max(n for _, n in (warm_up, *rows))
        if evict_ms:
            most = max(1, int(COLD_PASS_MS / evict_ms))
        first, *parts = (
            replace(part, repeats=min(part.repeats, most)) for part in (first, *parts)
        )
        parts.append(Part(EVICT, range(1), most))
        *times, evicting = await self._backend.time_ms(first, parts, rounds)
        evict_ms = median(evicting) / most
        out = []
        for passes, part, (_, wanted) in zip(times, parts, rows, strict=False):
            n = part.repeats
            own = [max(ms - n * evict_ms, 0.0) for ms in passes]
            out.append([ms * wanted / n for ms in own])
        return out

    def _part(self, row: str, repeats: int) -> Part:
        kernels = int(self._is_cold) + len(self._chooser.rows[row].passes)
        return Part(row, range(kernels), repeats)

    def free(self) -> None:
        """Give everything back."""
        self._inputs = {}
        self._kernels.clear()
        self._backend.free()
        self.multiplier.free()


def limited(op: Op, consts: Mapping[str, Const], most: int) -> dict[str, Const]:
    """Return a call's constants with its flat length, or its members, cut to a limit.

    Such a call (AdamW over all weights, the gradients of all layers) may fill the
    memory of the device or the page. Its time is linear in the length, but in members
    only where they are many: few of them leave cores idle, where other rows win.
    """
    out = dict(consts)
    if "G" in op.dims:
        dims = {letter: int(consts[letter]) for letter in op.dims}
        size = sum(math.prod(resolve_shape(arg.axes, dims)) for arg in op.args)
        out["G"] = min(dims["G"], max(1, MEMBERS_OF_FLAT * most * dims["G"] // size))
        return out
    lengths = {arg.axes[0][1] for arg in op.args if len(arg.axes) == 1}
    for letter in op.dims:
        if letter in lengths and consts[letter] > most:
            out[letter] = most
            for attr in op.attrs:
                if consts[attr] > most:
                    out[attr] = most // 2
    return out
