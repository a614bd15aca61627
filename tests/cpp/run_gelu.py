"""Prints how far GELU and its slope are from the reference on the native engine.

Run by test_native.py in a process that has the sanitizers' runtime:

    python -m tests.cpp.run_gelu build/native/libengine.so
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from tabgrad.backends.wasm import WasmBackend
from tests.cpp.native import NativeHost, load_library
from tests.ops.gelu_errors import report


async def errors(library: Path) -> dict[str, Any]:
    """Return the report of gelu_errors."""
    backend = WasmBackend(NativeHost(load_library(library), 2))
    found = await report(backend)
    backend.free()
    return found


if __name__ == "__main__":
    print(json.dumps(asyncio.run(errors(Path(sys.argv[1])))))
