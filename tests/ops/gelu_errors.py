"""How far GELU and its slope are from the reference on a backend.

Imports nothing of the tests, since the page's Python runs it too.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tabgrad.backends.base import Backend
from tabgrad.ops import OPS
from tabgrad.ops.cases import case_call
from tabgrad.ops.gelu import gelu_fwd, gelu_slope, normal_cdf
from tabgrad.plan import single_call_plan
from tabgrad.tensors import Array

MOST = 12.9  # farther out the tail is subnormal, which a device may take for 0
N_POINTS = 100_000  # an even number: 0 is not among them
FAR = (14.6, 40.0, 500.0, 1e10, 3e38)


async def report(backend: Backend) -> dict[str, Any]:
    """Return the worst relative errors up to |x| = 12.9, and if far points are exact.

    The slope is a sum of two terms that is 0 at x = -0.75: its error is relative to the
    sizes of the terms.
    """
    near = np.linspace(-MOST, MOST, N_POINTS).astype(np.float32)
    y, slope = await _outputs(backend, near)
    x = near.astype(np.float64)
    wanted = gelu_slope(x)
    terms = normal_cdf(x) + np.abs(wanted - normal_cdf(x))
    far = np.array([*FAR, *(-v for v in FAR)], np.float32)
    far_y, far_slope = await _outputs(backend, far)
    return {
        "y": _worst(x, y, gelu_fwd(x), np.abs(gelu_fwd(x))),
        "slope": _worst(x, slope, wanted, terms),
        "far_y": far_y.tolist() == np.maximum(far, 0).tolist(),
        "far_slope": far_slope.tolist() == (far > 0).tolist(),
    }


async def _outputs(backend: Backend, x: Array) -> tuple[Array, Array]:
    """Return GELU and its slope, the gradient where that of the output is 1."""
    found = []
    for op, out in (("gelu_fwd", "y"), ("gelu_bwd", "dx")):
        call, tensors = case_call(OPS[op], {"R": 1, "F": x.size}, False)
        await backend.prepare(single_call_plan(call, tensors))
        inputs = {"x": x.reshape(1, -1), "dy": np.ones((1, x.size), np.float32)}
        read = {arg.name: inputs[arg.name] for arg in call.op.args if arg.name != out}
        found.append((await backend.run("op", 1, read, [out]))[out].reshape(-1))
    return found[0], found[1]


def _worst(x: Array, got: Array, wanted: Array, size: Array) -> dict[str, float]:
    error = np.abs(got - wanted) / size
    at = int(error.argmax())
    return {"error": float(error[at]), "x": float(x[at])}
