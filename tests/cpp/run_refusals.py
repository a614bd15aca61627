"""Loads plans with a wrong word in their head and prints what the engine said, as JSON.

Run by test_native.py in a process that has the sanitizers' runtime:

    python -m tests.cpp.run_refusals build/native/libengine.so
"""

from __future__ import annotations

import asyncio
import json
import struct
import sys
from pathlib import Path

from tabgrad.backends.wasm_abi import lay_out, scratch_bytes, serialise
from tabgrad.errors import BackendError
from tabgrad.ops import OPS
from tabgrad.ops.cases import case_call
from tabgrad.plan import single_call_plan
from tests.cpp.native import NativeEngine, NativeHost, load_library

SHARED_WORD = 3  # of the head, see py/tabgrad/backends/wasm_abi.py


def said(engine: NativeEngine, plan: bytes) -> str:
    """Return what the engine says of a plan, or "taken"."""
    try:
        engine.load(plan)
    except BackendError as error:
        return str(error)
    return "taken"


async def main(library: Path) -> None:
    """Move the shared scratch of a product about in the arena; 4x16 needs all of it."""
    call, tensors = case_call(OPS["matmul_nn"], {"M": 94, "N": 36, "K": 4}, False)
    plan = single_call_plan(call, tensors)
    arena = lay_out(plan)
    host = NativeHost(load_library(library), 1)
    engine = await host.open(arena.n_bytes, scratch_bytes([call]))
    text = bytearray(serialise(plan, arena))
    found = {}
    for what, start in {
        "as it was": arena.shared,
        "four bytes short": arena.shared + 4,
        "not of whole floats": arena.shared - 1,
        "past the arena": arena.n_bytes + 4,
        "over a tensor": arena.shared - 256,
    }.items():
        struct.pack_into("<Q", text, 8 * SHARED_WORD, start)
        found[what] = said(engine, bytes(text))
    engine.free()
    print(json.dumps(found))


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
