"""Times the ways of an experiment side by side, and holds them to the first one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from statistics import median
from typing import Any

import numpy as np

from tabgrad.backends.base import Progress
from tabgrad.backends.choice import Pick
from tabgrad.backends.lab import Experiment, Way
from tabgrad.backends.measure import Times, in_turn, timer_of
from tabgrad.backends.selftest import deviation
from tabgrad.backends.tuner_bench import Multiplier
from tabgrad.backends.variant import WORKGROUP, Variant
from tabgrad.backends.webgpu import WebgpuBackend
from tabgrad.backends.webgpu_host import GpuHost
from tabgrad.backends.wgsl import assemble, read_wgsl
from tabgrad.ops import OPS, Call
from tabgrad.ops.cases import case_call
from tabgrad.plan import Place, Plan
from tabgrad.tensors import Array

Row = dict[str, Any]
# sources of kernels by name -> for each way, milliseconds of a step and what is left
StepClock = Callable[[Mapping[str, str]], Awaitable[list[Row]]]

_STEP = "probe/step"
_TOLD = {name: f"probe/told_{name}" for name in ("ring", "uniform", "immediate")}
STEP_FILES = (_STEP, *_TOLD.values())


class WayRows:
    """Gives each call of each way, which is a program, its own row."""

    def __init__(self, ways: Sequence[Way] = ()) -> None:
        """Take the ways; some share a call."""
        steps = ((way.name, *step) for way in ways for step in way.steps)
        self._rows = {(name, id(call)): row for name, call, row in steps}

    async def choose(self, plan: Plan, progress: Progress) -> Pick:
        """Return what gives the row of each call."""
        return self._row

    def _row(self, way: str, call: Call) -> Variant:
        return self._rows[way, id(call)]


class LabBench:
    """One experiment at a time on a device."""

    def __init__(self, host: GpuHost, device: tuple[frozenset[str], int]) -> None:
        """Make a bench with nothing loaded; `device` is its features and memory."""
        self._device = device
        self._backend = WebgpuBackend(host)
        self._multiplier = Multiplier(host)

    async def compare(self, experiment: Experiment) -> list[Row]:
        """Return how each way did.

        `error` is the largest deviation from the first way over what the op's contract
        allows, or None where a way is not held to it.
        """
        ways = [way for way in experiment.ways if way.can_do(*self._device)]
        plan = _plan(experiment, ways)
        self._backend.chooser = WayRows(ways)
        try:
            await self._multiplier.run_during(self._backend.prepare(plan))
            outputs = await self._multiplier.run_during(self._outputs(experiment, ways))
            times = await in_turn(timer_of(self._backend), [way.name for way in ways])
        finally:
            self._backend.free()
            self._multiplier.free()
        rows: list[Row] = [
            {
                "way": way.name,
                "dispatches": way.dispatches,
                "error": _error(way, outputs[way.name], outputs[ways[0].name]),
                **vars(times[way.name]),
            }
            for way in ways
        ]
        left = [way.name for way in experiment.ways if way not in ways]
        why = "this device has too little workgroup memory"
        return rows + [{"way": name, "refused": why} for name in left]

    async def _outputs(
        self, experiment: Experiment, ways: Sequence[Way]
    ) -> dict[str, list[Array]]:
        outputs = {}
        for way in ways:
            names = list(dict.fromkeys(way.outputs))
            shapes = {name: experiment.tensors[name].shape for name in names}
            # zeros, so that nothing is left of another way
            blank = {name: np.zeros(shapes[name], np.float32) for name in names}
            writes = {**experiment.inputs, **blank}
            found = await self._backend.run(way.name, 1, writes, names)
            outputs[way.name] = [found[name] for name in way.outputs]
        return outputs


def _error(way: Way, got: list[Array], wanted: list[Array]) -> float | None:
    """Return the largest deviation over what is allowed, or None with no output."""
    call, _ = way.steps[-1]
    name = call.op.outputs[0].name
    pairs = zip(got, wanted, strict=False)
    ratios = [deviation(call, name, *pair).ratio for pair in pairs]
    return min(max(ratios), 1e9) if ratios else None


def _plan(experiment: Experiment, ways: Sequence[Way]) -> Plan:
    """Return a plan with a program for each way."""
    tensors = experiment.tensors
    places = {name: experiment.places.get(name, Place(name)) for name in tensors}
    storages: dict[str, int] = {}
    for name, place in places.items():
        end = place.offset + tensors[name].n_bytes
        storages[place.storage] = max(storages.get(place.storage, 0), end)
    programs = {way.name: tuple(call for call, _ in way.steps) for way in ways}
    return Plan(tensors, storages, places, programs)


async def compare_steps(clock: StepClock) -> list[Row]:
    """Return how each way to tell a step its number, and to wait for it, did."""
    rows = []
    for way in await clock(step_sources()):
        if "refused" in way:
            rows.append(way)
            continue
        error = 0.0 if way["got"] == way["wanted"] else 1e9
        row = {"way": way["way"], "dispatches": way["dispatches"], "error": error}
        row |= vars(Times.of(way["ms"]))
        rows.append({**row, "js_ms": median(way["js_ms"])})
    return rows


def step_sources() -> dict[str, str]:
    """Return the kernels that the steps of `players/webgpu_steps.js` are made of."""
    size = f"const WG: u32 = {WORKGROUP}u;"
    sources = {
        name: "\n".join((read_wgsl(file), size, read_wgsl(_STEP)))
        for name, file in _TOLD.items()
    }
    advance = case_call(OPS["step_advance"], {}, False)[0]
    return {**sources, "advance": assemble(advance).source}
