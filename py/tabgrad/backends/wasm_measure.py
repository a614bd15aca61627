"""Measures the CPU engine: one call, the calls of a training step, drawing weights."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from tabgrad.backends.base import Draw
from tabgrad.backends.choice import call_key
from tabgrad.backends.measure import moved_bytes
from tabgrad.backends.selftest import deviation, reference_outputs
from tabgrad.backends.wasm import WasmBackend
from tabgrad.backends.wasm_abi import TILE_NAMES
from tabgrad.ops import OPS, Arg, Call
from tabgrad.ops.cases import case_call
from tabgrad.philox import Stream
from tabgrad.plan import Plan, single_call_plan
from tabgrad.tensors import Array

ENOUGH_MS = 1000.0
LEAST_STEPS, MOST_STEPS = 5, 1000
PASSES = 5
TILE_PASS_MS, TILE_PASSES = 10.0, 25  # short, as other programs take turns, too
CHECKED_ROWS = 8


def _times(backend: WasmBackend, program: str) -> Array:
    """Return the ms of each call of each step, (steps, calls), of a warm engine."""
    ms = float(backend.time(program, 2)[1].sum())
    steps = int(ENOUGH_MS / max(ms, 0.001))
    return backend.time(program, max(LEAST_STEPS, min(steps, MOST_STEPS)))


def _spread(times: Array) -> dict[str, float]:
    least, middle, most = (float(f(times)) for f in (np.min, np.median, np.max))
    return {"ms": middle, "least_ms": least, "most_ms": most}


async def _prepare(backend: WasmBackend, call: Call) -> dict[str, Array]:
    """Load a call with normal numbers; return all tensors, outputs as zeros."""
    _, tensors = case_call(call.op, call.consts, False)
    await backend.prepare(single_call_plan(call, tensors))
    rng = np.random.default_rng(1)
    arrays: dict[str, Array] = {}
    for arg in call.op.args:
        shape = tensors[arg.name].shape
        arrays[arg.name] = np.zeros(shape, np.float32)
        if arg.access == "read":
            arrays[arg.name] = rng.standard_normal(shape, np.float32)
            await backend.write(arg.name, arrays[arg.name].ravel())
    return arrays


async def product_times(backend: WasmBackend, call: Call) -> dict[str, Any]:
    """Return the times of a product of normal numbers, and its work."""
    await _prepare(backend, call)
    times = _times(backend, "op")
    # a thread may begin a call before the one with the clock has left the last
    passes = [np.mean(part) for part in np.array_split(times, PASSES)]
    return {**_spread(np.array(passes)), "flops": call.flops}


async def draw_times(backend: WasmBackend, n: int) -> dict[str, Any]:
    """Return the times of drawing n weights, by the host's clock."""
    call, tensors = case_call(OPS["sqnorm_fwd"], {"N": n, "P": 1024}, False)
    await backend.prepare(single_call_plan(call, tensors))
    ms = []
    for tensor in range(PASSES):
        start = time.perf_counter()
        await backend.fill_normals("g", Draw(1, Stream.WEIGHTS, tensor, 0.02))
        ms.append(1000 * (time.perf_counter() - start))
    return {**_spread(np.array(ms)), "count": n}


def _some_rows(arg: Arg, values: Array, rows: Array) -> Array:
    """Return a tensor with these of its M rows, or all of it where it has no M."""
    letters = [letter for _, letter in arg.axes]
    return values.take(rows, letters.index("M")) if "M" in letters else values


async def _are_right(
    backend: WasmBackend, call: Call, arrays: dict[str, Array]
) -> dict[str, bool]:
    """Return tile -> whether a product's outputs are right.

    Some rows of them are near the reference, and all equal to the bit to those of the
    first tile.
    """
    op = call.op
    rows = np.linspace(0, call.consts["M"] - 1, CHECKED_ROWS).astype(int)
    few = {arg.name: _some_rows(arg, arrays[arg.name], rows) for arg in op.args}
    few_consts = {**call.consts, "M": len(rows)}
    wanted = reference_outputs(op, few_consts, few, frozenset())
    outputs = {arg.name: arrays[arg.name].ravel() for arg in op.outputs}
    first: dict[str, Array] = {}
    found = {}
    for tile in TILE_NAMES:
        backend.use_tile(tile)
        got = await backend.run("op", 1, outputs, list(outputs))
        first = first or got
        found[tile] = all(np.array_equal(got[name], first[name]) for name in outputs)
        for arg in op.outputs:
            values = _some_rows(arg, got[arg.name], rows)
            near = deviation(call, arg.name, values, wanted[arg.name])
            found[tile] = found[tile] and near.passes
    return found


async def tile_times(backend: WasmBackend, call: Call) -> dict[str, Any]:
    """Return times of a product by each tile in turn, on one thread, and its work."""
    arrays = await _prepare(backend, call)
    chosen = str(backend.facts()["tile"])
    rights = await _are_right(backend, call, arrays)
    steps = max(1, int(TILE_PASS_MS / max(0.001, backend.time("op", 2)[1].sum())))
    passes: dict[str, list[Array]] = {tile: [] for tile in TILE_NAMES}
    for _ in range(TILE_PASSES):
        for tile, times in passes.items():
            backend.use_tile(tile)
            times.append(backend.time("op", steps).ravel())
    rows = [
        {"tile": tile, **_spread(np.concatenate(times)), "is_right": rights[tile]}
        for tile, times in passes.items()
    ]
    backend.use_tile(chosen)
    return {"rows": rows, "flops": call.flops}


def call_times(backend: WasmBackend, plan: Plan) -> dict[str, Any]:
    """Return the times of a whole step of training, and of each kind of call in it."""
    times = _times(backend, "train")
    calls = plan.programs["train"]
    keys = [call_key(call) for call in calls]
    rows = []
    for key in dict.fromkeys(keys):
        which = [i for i, k in enumerate(keys) if k == key]
        call = calls[which[0]]
        _, _, sizes = key.partition(" ")
        what = {"op": call.op.name, "sizes": sizes, "count": len(which)}
        work = {"flops": call.flops, "bytes": moved_bytes(plan, call)}
        rows.append({**what, **_spread(times[:, which].mean(axis=1)), **work})
    return {"step": {**_spread(times.sum(axis=1)), "calls": len(calls)}, "rows": rows}
