"""Holds the native engine to the references and prints what it found, as JSON.

Run by test_native.py in a process that has the sanitizers' runtime:

    python -m tests.cpp.run_cases build/native/libengine.so THREADS
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from tabgrad.backends.selftest import Deviation, deviation, reference_outputs
from tabgrad.backends.wasm_abi import lay_out, scratch_bytes, serialise
from tabgrad.ops import OPS, Const, Op
from tabgrad.ops.cases import case_call, case_inputs, op_cases
from tabgrad.plan import single_call_plan
from tests.cpp.native import Fence, NativeHost, load_library, tensor_ranges, tiles_of

GAP_BYTES = 256


async def run_case(
    host: NativeHost, fence: Fence, op: Op, consts: Mapping[str, Const], adds: bool
) -> list[Deviation]:
    """Return the deviation of each output.

    Nothing but the tensors may be touched: all bytes between them are fenced off, and
    scratch, a thread's and the shared, has no byte more than the contract says.
    """
    call, tensors = case_call(op, consts, adds)
    plan = single_call_plan(call, tensors)
    arena = lay_out(plan, start=GAP_BYTES, gap=GAP_BYTES)
    engine = await host.open(arena.n_bytes, scratch_bytes([call]))
    inputs = case_inputs(op, consts)
    try:
        engine.load(serialise(plan, arena))
        shared = (arena.shared, arena.n_bytes - arena.shared)
        ranges = [*tensor_ranges(plan, dict(arena.starts)), shared]
        fence.open_only(engine.base, arena.n_bytes, ranges)
        for name, values in inputs.items():
            engine.write(arena.offset(plan, name), np.ascontiguousarray(values))
        engine.run(0, 1)
        found = []
        wanted = reference_outputs(op, consts, inputs, call.adds)
        for name, values in wanted.items():
            got = np.empty_like(inputs[name])
            engine.read(arena.offset(plan, name), got)
            found.append(deviation(call, name, got, values))
        return found
    finally:
        fence.open_all(engine.base, arena.n_bytes)
        engine.free()


async def run_all(library: Path, threads: int) -> dict[str, dict[str, object]]:
    """Return op -> number of its cases, and what was wrong with them."""
    loaded = load_library(library)
    fence = Fence(loaded)
    report: dict[str, dict[str, object]] = {}
    for op in OPS.values():
        found = [
            await run_case(NativeHost(loaded, threads, tile), fence, op, consts, adds)
            for tile in tiles_of(op.name)
            for consts in op_cases(op.name)
            for adds in ((False, True) if op.adds else (False,))
        ]
        wrong = [str(d) for case in found for d in case if not d.passes]
        report[op.name] = {"cases": len(found), "wrong": wrong}
    return report


if __name__ == "__main__":
    print(json.dumps(asyncio.run(run_all(Path(sys.argv[1]), int(sys.argv[2])))))
