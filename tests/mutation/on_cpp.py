"""Every C++ mutant against the op tests, natively.

Usage: python3 -m tests.mutation.on_cpp

Prints the mutants that no op test catches; the exit status is 1 if there are any.
"""

from __future__ import annotations

import asyncio
import re
import shutil
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tabgrad.backends.selftest import check_case
from tabgrad.backends.wasm import WasmBackend
from tabgrad.ops import OPS, Op
from tabgrad.ops.cases import op_cases
from tests.cpp.native import NativeHost, load_library
from tests.mutation.mutants import CPP_PREAMBLE, Mutant, cpp_mutants
from tools import engine
from tools.shell import run

FLAGS = ("-std=c++20", "-O1", "-fPIC", "-fno-exceptions", "-pthread")
THREADS = 2
# they run or time the ops, or draw weights, and hold no arithmetic of ops
NOT_OPS = frozenset(
    {"clock", "engine", "memory", "normals", "peak", "team", "tile_choice"}
)


class Workshop:
    """A copy of the sources, compiled once; a mutant recompiles what it touches."""

    def __init__(self, folder: Path) -> None:
        """Copy and compile."""
        self.folder = folder
        self.generated = engine.write_contract()
        shutil.copytree(engine.CPP, folder / "cpp")
        self.sources = sorted((folder / "cpp").glob("*.cpp"))
        with ThreadPoolExecutor(2) as pool:
            self.objects = dict(pool.map(self.compile, self.sources))
        self.count = 0

    def compile(self, source: Path, to: str = "plain") -> tuple[Path, Path]:
        """Return the source and its object."""
        target = self.folder / f"{source.stem}.{to}.o"
        flags = [*FLAGS, f"-I{self.generated}", f"-I{source.parent}"]
        run([engine.CLANG, *flags, "-c", source, "-o", target])
        return source, target

    def includes(self, source: Path, header: str, seen: frozenset[str]) -> bool:
        """Return whether a file includes a header, itself or through others."""
        found = set(re.findall(r'#include "([^"]+)"', source.read_text())) - seen
        folder = source.parent
        return header in found or any(
            self.includes(folder / name, header, seen | found)
            for name in found
            if (folder / name).is_file()
        )

    def library(self, mutant: Mutant) -> Path:
        """Return the library with one mutant in it."""
        changed = self.folder / "cpp" / mutant.file
        kept = changed.read_text()
        pragma = "#pragma once\n" if changed.suffix == ".h" else ""
        changed.write_text(pragma + CPP_PREAMBLE + mutant.text)
        touched = [
            s
            for s in self.sources
            if s == changed or self.includes(s, mutant.file, frozenset())
        ]
        try:
            with ThreadPoolExecutor(2) as pool:
                built = dict(pool.map(lambda s: self.compile(s, "mutant"), touched))
        finally:
            changed.write_text(kept)
        self.count += 1
        # a new name each time: the loader would return the library it has
        library = self.folder / f"mutant{self.count}.so"
        objects = {**self.objects, **built}.values()
        run([engine.CLANG, *FLAGS, "-shared", *objects, "-o", library])
        return library

    def ops_of(self, file: str) -> list[Op]:
        """Return the ops whose functions a file, or a file that includes it, holds."""
        paths = [
            s
            for s in self.sources
            if s.name == file or self.includes(s, file, frozenset())
        ]
        text = "\n".join(path.read_text() for path in paths)
        return [op for op in OPS.values() if f"void {op.name}(const" in text]


async def is_caught(library: Path, ops: list[Op]) -> bool:
    """Return whether an op test fails."""
    backend = WasmBackend(NativeHost(load_library(library), THREADS))
    try:
        for op in ops:
            for consts in op_cases(op.name):
                for adds in (False, True) if op.adds else (False,):
                    found = await check_case(backend, op, consts, adds)
                    if not all(deviation.passes for deviation in found):
                        return True
    finally:
        backend.free()
    return False


def main() -> int:
    """Plant every error in turn and report."""
    lived, total, reached = [], 0, set()
    with tempfile.TemporaryDirectory() as folder:
        shop = Workshop(Path(folder))
        for path in sorted(engine.CPP.glob("*")):
            ops = shop.ops_of(path.name)
            mutants = cpp_mutants(path.name, path.read_text())
            if path.stem in NOT_OPS or path.name == "simd.h":
                continue
            for mutant in mutants:
                total += 1
                reached.update(op.name for op in ops)
                caught = asyncio.run(is_caught(shop.library(mutant), ops))
                print(f"{'caught' if caught else 'LIVED'}  {mutant}", flush=True)
                if not caught:
                    lived.append(mutant)
    print(f"{total - len(lived)} planted errors caught, {len(lived)} lived")
    untouched = sorted(set(OPS) - reached)
    if untouched:
        print(f"no error was planted for {', '.join(untouched)}")
    return 1 if lived or untouched else 0


if __name__ == "__main__":
    sys.exit(main())
