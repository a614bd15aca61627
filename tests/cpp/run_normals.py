"""Draws weights on the native engine and prints how many differ from numpy's, as JSON.

Run by test_native.py in a process that has the sanitizers' runtime:

    python -m tests.cpp.run_normals build/native/libengine.so THREADS
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import numpy as np

from tabgrad.backends.base import Draw
from tabgrad.backends.wasm import WasmBackend
from tabgrad.ops import OPS
from tabgrad.ops.cases import case_call
from tabgrad.philox import Stream, normals
from tabgrad.plan import single_call_plan
from tests.cpp.native import NativeHost, load_library

SIZES = (1, 3, 4, 15, 17, 8191, 8193, 2_000_003)
SEED = 0xFEDCBA9876543210
STD = 0.02 / np.sqrt(6)


async def differences(library: Path, threads: int) -> dict[str, int]:
    """Return size -> elements whose bits differ; what lies behind counts, too."""
    backend = WasmBackend(NativeHost(load_library(library), threads))
    found = {}
    for n in SIZES:
        call, tensors = case_call(OPS["gelu_fwd"], {"R": 1, "F": n}, False)
        plan = single_call_plan(call, tensors)
        await backend.prepare(plan)
        await backend.fill_normals("x", Draw(SEED, Stream.WEIGHTS, 7, float(STD)))
        got = await backend.read("x")
        wanted = np.float32(STD) * normals(SEED, Stream.WEIGHTS, 7, 0, n)
        found[str(n)] = int((got.view(np.uint32) != wanted.view(np.uint32)).sum())
        found[str(n)] += int((await backend.read("y")).any())
    backend.free()
    return found


if __name__ == "__main__":
    print(json.dumps(asyncio.run(differences(Path(sys.argv[1]), int(sys.argv[2])))))
