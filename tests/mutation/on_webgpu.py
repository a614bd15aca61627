"""Runs in Pyodide: every WGSL mutant against the op tests.

Loaded after gpu_driver.py, whose `open_host` and `TheRow` it uses; `mutants.py` is
imported.
"""

import json

from mutants import wgsl_mutants

from tabgrad.backends import wgsl
from tabgrad.backends.selftest import check_case
from tabgrad.backends.variants import VARIANTS
from tabgrad.backends.webgpu import WebgpuBackend
from tabgrad.ops import OPS
from tabgrad.ops.cases import op_cases

READ = wgsl.read_wgsl


def small_first(op):
    """Return the cases of an op, few elements first, but those of one element last."""

    def size(consts):
        total = 1
        for letter in op.dims:
            total *= consts[letter]
        return total if total > 8 else 1e9

    return sorted(op_cases(op.name), key=size)


async def is_caught(backend, op, variant, cases):
    """Return the words of the first deviation that fails, or None."""
    for consts in cases:
        for adds in (False, True) if op.adds else (False,):
            found = await check_case(backend, op, consts, adds, variant.tol)
            for deviation in found:
                if not deviation.passes:
                    return str(deviation)
    return None


async def survivors():
    """Return the mutants of every kernel that no op test catches, and the count.

    Rows of an op that differ in constants only are the same text: one stands for all.
    A row that this device cannot do is left out.
    """
    host = await open_host()  # noqa: F821  from gpu_driver.py
    backend = WebgpuBackend(host)
    room = int(host.device.limits.maxComputeWorkgroupStorageSize)
    lived, total, seen = [], 0, set()
    for variant in VARIANTS:
        op, label = OPS[variant.op], f"{variant.op}:{variant.name}"
        outputs = {a.name: a.dtype for a in op.outputs}
        if variant.then:
            outputs["scratch"] = "f32"
        device = (host.features, room)
        cases = [c for c in small_first(op) if variant.can_do(c, *device)]
        backend.chooser = TheRow(variant)  # noqa: F821  from gpu_driver.py
        files = list(dict.fromkeys(f for row in variant.passes for f in row.files))
        if (op.name, *files) in seen or not cases:
            continue
        seen.add((op.name, *files))
        mutants = [m for f in files for m in wgsl_mutants(f, READ(f), outputs)]
        if not mutants:
            lived.append(f"{label}: no statement to plant an error in")
        for mutant in mutants:
            total += 1
            wgsl.read_wgsl = lambda f, m=mutant: m.text if f == m.file else READ(f)
            if await is_caught(backend, op, variant, cases) is None:
                lived.append(f"{label}: {mutant}")
        wgsl.read_wgsl = READ
    backend.free()
    return json.dumps({"lived": lived, "total": total, "adapter": backend.adapter})
