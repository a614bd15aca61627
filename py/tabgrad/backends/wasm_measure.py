"""Measures the CPU engine: one call, the calls of a training step, drawing weights."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from tabgrad.backends.base import Draw
from tabgrad.backends.choice import call_key
from tabgrad.backends.measure import moved_bytes
from tabgrad.backends.wasm import WasmBackend
from tabgrad.ops import OPS, Call
from tabgrad.ops.cases import case_call
from tabgrad.philox import Stream
from tabgrad.plan import Plan, single_call_plan
from tabgrad.tensors import Array

ENOUGH_MS = 1000.0
LEAST_STEPS, MOST_STEPS = 5, 1000
PASSES = 5


def _times(backend: WasmBackend, program: str) -> Array:
    """Return the ms of each call of each step, (steps, calls), of a warm engine."""
    ms = float(backend.time(program, 2)[1].sum())
    steps = int(ENOUGH_MS / max(ms, 0.001))
    return backend.time(program, max(LEAST_STEPS, min(steps, MOST_STEPS)))


def _spread(times: Array) -> dict[str, float]:
    least, middle, most = (float(f(times)) for f in (np.min, np.median, np.max))
    return {"ms": middle, "least_ms": least, "most_ms": most}


async def product_times(backend: WasmBackend, call: Call) -> dict[str, Any]:
    """Return the times of a product of normal numbers, and its work."""
    _, tensors = case_call(call.op, call.consts, False)
    await backend.prepare(single_call_plan(call, tensors))
    rng = np.random.default_rng(1)
    for arg in (a for a in call.op.args if a.access == "read"):
        values = rng.standard_normal(tensors[arg.name].size, np.float32)
        await backend.write(arg.name, values)
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
