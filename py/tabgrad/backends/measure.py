"""Measures a GPU and its kernels: peaks, rows of one call, the calls of a program."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, median
from typing import Any

from tabgrad.backends.choice import call_key
from tabgrad.backends.probes import (
    COPY,
    COPY_SIZES,
    FMA,
    FMA_FLOPS,
    FMA_SIZES,
    PROBES,
)
from tabgrad.backends.race import Bench
from tabgrad.backends.selftest import deviation
from tabgrad.backends.variant import BASE, Variant
from tabgrad.backends.webgpu import Part, WebgpuBackend
from tabgrad.errors import BackendError, ConfigError
from tabgrad.ops import OPS, Call
from tabgrad.ops.cases import case_call
from tabgrad.plan import Plan
from tabgrad.tensors import ITEM_BYTES

PASS_MS = 2.0  # long beside the rounding of the device's clock
PASSES = 7
WARM_UP_MS = 20.0  # an idle device runs at a fraction of its clocks
MAX_REPEATS = 1000
IN_PLACE_MS = 1000.0  # of steps whose calls are timed in place: the clock is rounded
MAX_PASSES = 2048  # that one measurement times, see site/js/players/webgpu_timer.js
_ROUNDED_MS = 0.1

# calls that warm up, calls of a pass, passes -> ms of each pass
Clock = Callable[[int, int, int], Awaitable[list[float]]]
# what warms up and its calls, others and theirs in a pass, rounds -> ms of their passes
Timer = Callable[
    [tuple[str, int], Sequence[tuple[str, int]], int], Awaitable[list[list[float]]]
]


@dataclass(frozen=True)
class Times:
    """Milliseconds of one call: median and the least and most of the passes."""

    ms: float
    least_ms: float
    most_ms: float

    @classmethod
    def of(cls, passes: Sequence[float], repeats: int = 1) -> Times:
        """Return the times of a call that each pass repeats."""
        ms = [each / repeats for each in passes]
        return cls(median(ms), min(ms), max(ms))


async def timed(clock: Clock) -> Times:
    """Return the times of a call on a warm device, repeated until passes are long."""
    ms = await _rough(clock)
    repeats = _repeats(PASS_MS, ms, MAX_REPEATS)
    warm_up = _repeats(WARM_UP_MS, ms, 10 * MAX_REPEATS)
    return Times.of(await clock(warm_up, repeats, PASSES), repeats)


def _repeats(pass_ms: float, ms: float, most: int) -> int:
    """Return how many calls last about `pass_ms`."""
    return max(1, min(int(pass_ms / ms), most))


async def _rough(clock: Clock) -> float:
    """Return about the milliseconds of a call, at least a microsecond."""
    repeats = 1
    (ms,) = await clock(1, repeats, 1)
    if ms < _ROUNDED_MS:
        repeats = 32
        (ms,) = await clock(1, repeats, 1)
    return max(ms / repeats, 0.001)


def _clock_of(time_ms: Timer, name: str) -> Clock:
    async def clock(warm_up: int, repeats: int, passes: int) -> list[float]:
        return (await time_ms((name, warm_up), [(name, repeats)], passes))[0]

    return clock


async def in_turn(time_ms: Timer, names: Sequence[str]) -> dict[str, Times]:
    """Return the times of each name: they take turns, so that one clock is for all."""
    ms = {name: await _rough(_clock_of(time_ms, name)) for name in names}
    parts = [(name, _repeats(PASS_MS, ms[name], MAX_REPEATS)) for name in names]
    warm_up = (names[0], _repeats(WARM_UP_MS, ms[names[0]], 10 * MAX_REPEATS))
    rounds = [await time_ms(warm_up, parts, 1) for _ in range(PASSES)]
    return {
        name: Times.of([each[i][0] for each in rounds], repeats)
        for i, (name, repeats) in enumerate(parts)
    }


def timer_of(backend: WebgpuBackend) -> Timer:
    """Return what times the loaded programs of a backend."""

    def part(program: str, repeats: int) -> Part:
        kernels = range(backend.parts(program)[-1][2].stop)
        return Part(program, kernels, repeats)

    async def time_ms(
        warm_up: tuple[str, int], programs: Sequence[tuple[str, int]], rounds: int
    ) -> list[list[float]]:
        first, *parts = (part(*each) for each in (warm_up, *programs))
        return await backend.time_ms(first, parts, rounds)

    return time_ms


def _kernels_clock(backend: WebgpuBackend, program: str, kernels: range) -> Clock:
    async def clock(warm_up: int, repeats: int, passes: int) -> list[float]:
        first, part = (Part(program, kernels, n) for n in (warm_up, repeats))
        return (await backend.time_ms(first, [part], passes))[0]

    return clock


async def peaks(bench: Bench, shrink: int) -> dict[str, float]:
    """Return the device's multiply-adds (TFLOP/s) and copies (GB/s), as measured.

    Args:
        bench: that can load calls of these sizes.
        shrink: how many times fewer elements: 1, or more for a software adapter.
    """
    found = {}
    probes = ((FMA, FMA_SIZES), (COPY, COPY_SIZES))
    for (op, whole), row in zip(probes, PROBES, strict=True):
        sizes = {**whole, "N": int(whole["N"]) // shrink}
        loading = bench.load(case_call(op, sizes, False)[0], [row])
        refused = await bench.wait(loading)
        if refused:
            raise BackendError(f"probe {op.name}: {refused[BASE]}")
        found[op.name] = await timed(_clock_of(bench.time_ms, BASE))
    bench.free()
    flops = FMA_FLOPS * FMA_SIZES["N"] * FMA_SIZES["ITERS"] / shrink
    n_bytes = 2 * ITEM_BYTES * COPY_SIZES["N"] / shrink
    fma_ms, copy_ms = found["fma"].least_ms, found["copy"].least_ms
    return {"tflops": flops / fma_ms / 1e9, "gb_per_s": n_bytes / copy_ms / 1e6}


async def compare_rows(
    bench: Bench, call: Call, rows: Sequence[Variant]
) -> list[dict[str, Any]]:
    """Return time and error of each row of a call, held to the base row.

    `error` is the largest deviation over what the op's contract allows, or, where a
    row has `allowed`, over that share of the largest output.
    """
    refused = await bench.wait(bench.load(call, rows))
    # at once: while outputs are compared the device rests and lowers its clocks
    names = [row.name for row in rows if row.name not in refused]
    times = await in_turn(bench.time_ms, names) if names else {}
    report: list[dict[str, Any]] = []
    wanted = {} if BASE in refused else await bench.outputs(BASE)
    for row in rows:
        name = row.name
        if name in refused or not wanted:
            why = refused.get(name) or "the base kernel failed"
            report.append({"row": name, "refused": why})
            continue
        got = await bench.outputs(name)
        found = [deviation(call, a, got[a], wanted[a], row.tol) for a in wanted]
        error = min(max(each.ratio for each in found), 1e9)
        allowed = {"allowed": row.tol.rel} if row.tol else {}
        report.append({"row": name, "error": error, **allowed, **vars(times[name])})
    bench.free()
    return report


def square_call(op_name: str, size: int) -> Call:
    """Return a product of square matrices.

    Raises:
        ConfigError: the op is no product.
    """
    known = [name for name, op in OPS.items() if set(op.dims) == set("MNK")]
    if op_name not in known:
        raise ConfigError(f"op: got {op_name!r}, wanted {', '.join(known)}")
    sizes = {"M": size, "N": size, "K": size}
    return case_call(OPS[op_name], sizes, False)[0]


async def op_table(
    backend: WebgpuBackend, plan: Plan, program: str, in_place: Mapping[str, float]
) -> list[dict[str, Any]]:
    """Return the distinct calls of a loaded program, with times, work and count.

    `ms` is of a call repeated, which finds its operands in the cache; `in_place_ms` is
    what `in_place_times` says. The program's tensors hold nonsense afterwards.
    """
    parts = backend.parts(program)
    counts: dict[str, int] = {}
    for call, _, _ in parts:
        counts[call_key(call)] = counts.get(call_key(call), 0) + 1
    rows = []
    for call, row, part in reversed(parts):
        key = call_key(call)
        if key not in counts:
            continue
        times = await timed(_kernels_clock(backend, program, part))
        _, _, sizes = key.partition(" ")
        work = {"flops": call.flops, "bytes": moved_bytes(plan, call)}
        what = {
            "op": call.op.name,
            "sizes": sizes,
            "row": row,
            "count": counts.pop(key),
            "in_place_ms": in_place[key],
        }
        rows.append({**what, **vars(times), **work})
    return rows[::-1]


async def in_place_times(backend: WebgpuBackend, program: str) -> dict[str, float]:
    """Return milliseconds of each distinct call within whole steps: the mean.

    Each call has a pass of its own, which costs some microseconds. The steps are those
    of a run, so that what is timed next is on a device that has raised its clocks.
    """
    parts = backend.parts(program)
    kernels = range(parts[-1][2].stop)
    step = Part(program, kernels, 1)
    ((told_ms,),) = await backend.time_ms(step, [step], 1)
    step_ms = max(told_ms, _ROUNDED_MS)
    n_steps = math.ceil(IN_PLACE_MS / step_ms)
    at_once = min(n_steps, MAX_PASSES // len(parts))
    warm_up = replace(step, repeats=_repeats(WARM_UP_MS, step_ms, n_steps))
    each = [Part(program, part, 1) for _, _, part in parts]
    passes: list[list[float]] = [[] for _ in parts]
    for _ in range(math.ceil(n_steps / at_once)):
        found = await backend.time_ms(warm_up, each, at_once)
        for of_call, more in zip(passes, found, strict=True):
            of_call.extend(more)
    ms: dict[str, list[float]] = {}
    for (call, _, _), of_call in zip(parts, passes, strict=True):
        ms.setdefault(call_key(call), []).extend(of_call)
    return {key: fmean(values) for key, values in ms.items()}


async def program_times(backend: WebgpuBackend, program: str) -> dict[str, float]:
    """Return the device's own time of a step of a loaded program, and its kernels."""
    parts = backend.parts(program)
    n_kernels = parts[-1][2].stop
    whole = range(n_kernels)
    times = await timed(_kernels_clock(backend, program, whole))
    return {**vars(times), "dispatches": n_kernels}


def moved_bytes(plan: Plan, call: Call) -> int:
    """Return the least bytes that a call moves: each tensor once, updates twice."""

    def weights() -> Iterable[int]:
        for arg in call.op.args:
            times = 2 if arg.access == "update" or arg.name in call.adds else 1
            yield times * plan.tensors[call.args[arg.name]].n_bytes

    return sum(weights())
