"""Runs every case with several numbers of threads, products with each tile, too.

Prints hashes, as JSON.

Run by test_native.py in a process that has the sanitizers' runtime:

    python -m tests.cpp.run_threads build/native/libengine.so THREADS...
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import sys
from pathlib import Path

from tabgrad.backends.wasm import WasmBackend
from tabgrad.backends.wasm_abi import TILES
from tabgrad.ops import OPS, Op
from tabgrad.ops.cases import case_call, case_inputs, op_cases
from tabgrad.plan import single_call_plan
from tests.cpp.native import NativeHost, load_library, tiles_of


async def hash_of(backend: WasmBackend, op: Op) -> str:
    """Return a hash of all outputs of all cases of an op."""
    found = hashlib.sha256()
    names = [arg.name for arg in op.outputs]
    for consts in op_cases(op.name):
        for adds in (False, True) if op.adds else (False,):
            call, tensors = case_call(op, consts, adds)
            await backend.prepare(single_call_plan(call, tensors))
            outputs = await backend.run("op", 1, case_inputs(op, consts), names)
            for name in names:
                found.update(outputs[name].tobytes())
    return found.hexdigest()


async def main(library: Path, threads: list[int]) -> None:
    """Print op -> its hash for each number of threads, and tile."""
    loaded = load_library(library)
    report: dict[str, list[str]] = {name: [] for name in OPS}
    for n in threads:
        for tile in range(len(TILES)):
            backend = WasmBackend(NativeHost(loaded, n, tile))
            for op in (op for op in OPS.values() if tile in tiles_of(op.name)):
                report[op.name].append(await hash_of(backend, op))
            backend.free()
    print(json.dumps(report))


if __name__ == "__main__":
    path, *n_threads = sys.argv[1:]
    asyncio.run(main(Path(path), [int(n) for n in n_threads]))
