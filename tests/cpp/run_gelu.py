"""Prints the largest relative error of GELU on the native engine.

Run by test_native.py in a process that has the sanitizers' runtime:

    python -m tests.cpp.run_gelu build/native/libengine.so
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import numpy as np

from tabgrad.backends.wasm import WasmBackend
from tabgrad.ops import OPS
from tabgrad.ops.cases import case_call
from tabgrad.ops.gelu import gelu_fwd
from tabgrad.plan import single_call_plan
from tests.cpp.native import NativeHost, load_library

LEAST = 1e-37  # smaller results are subnormal
N_POINTS = 100_001


async def worst_error(library: Path) -> dict[str, float]:
    """Return the largest relative error from -13.5 to 13.5, and where it is."""
    x = np.linspace(-13.5, 13.5, N_POINTS).astype(np.float32)
    call, tensors = case_call(OPS["gelu_fwd"], {"R": 1, "F": N_POINTS}, False)
    backend = WasmBackend(NativeHost(load_library(library), 2))
    await backend.prepare(single_call_plan(call, tensors))
    got = (await backend.run("op", 1, {"x": x.reshape(1, -1)}, ["y"]))["y"].reshape(-1)
    backend.free()
    wanted = gelu_fwd(x.astype(np.float64))
    is_normal = np.abs(wanted) > LEAST
    error = np.abs(got[is_normal] / wanted[is_normal] - 1)
    at = int(error.argmax())
    return {"error": float(error[at]), "x": float(x[is_normal][at])}


if __name__ == "__main__":
    print(json.dumps(asyncio.run(worst_error(Path(sys.argv[1])))))
