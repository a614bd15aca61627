"""Prints the largest relative errors of GELU and of its slope on the native engine.

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
from tabgrad.ops.gelu import gelu_fwd, gelu_slope, normal_cdf
from tabgrad.plan import single_call_plan
from tests.cpp.native import NativeHost, load_library

LEAST = 1e-37  # smaller results are subnormal
N_POINTS = 100_001
FAR = (13.6, 40.0, 500.0, 1e10, 3e38)


async def outputs(library: Path, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the engine's GELU and its slope."""
    backend = WasmBackend(NativeHost(load_library(library), 2))
    found = []
    for op, out in (("gelu_fwd", "y"), ("gelu_bwd", "dx")):
        call, tensors = case_call(OPS[op], {"R": 1, "F": x.size}, False)
        await backend.prepare(single_call_plan(call, tensors))
        inputs = {"x": x.reshape(1, -1), "dy": np.ones((1, x.size), np.float32)}
        read = {arg.name: inputs[arg.name] for arg in call.op.args if arg.name != out}
        found.append((await backend.run("op", 1, read, [out]))[out].reshape(-1))
    backend.free()
    return found[0], found[1]


def worst(x: np.ndarray, got: np.ndarray, wanted: np.ndarray, size: np.ndarray) -> dict:
    """Return the largest error relative to `size`, and where it is."""
    is_normal = size > LEAST
    error = np.abs(got - wanted)[is_normal] / size[is_normal]
    at = int(error.argmax())
    return {"error": float(error[at]), "x": float(x[is_normal][at])}


async def report(library: Path) -> dict:
    """Return the worst errors from -13.5 to 13.5, and what comes of far points.

    The slope is a sum that is 0 at x = -0.75: its error is relative to the sizes of its
    terms.
    """
    near = np.linspace(-13.5, 13.5, N_POINTS).astype(np.float32)
    y, slope = await outputs(library, near)
    x = near.astype(np.float64)
    wanted = gelu_fwd(x)
    wanted_slope = gelu_slope(x)
    terms = normal_cdf(x) + np.abs(wanted_slope - normal_cdf(x))
    far = np.array([*FAR, *(-v for v in FAR)], np.float32)
    far_y, far_slope = await outputs(library, far)
    return {
        "y": worst(x, y, wanted, np.abs(wanted)),
        "slope": worst(x, slope, wanted_slope, terms),
        "far_y": bool(np.array_equal(far_y, np.maximum(far, 0))),
        "far_slope": bool(np.array_equal(far_slope, far > 0)),
    }


if __name__ == "__main__":
    print(json.dumps(asyncio.run(report(Path(sys.argv[1])))))
