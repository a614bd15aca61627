"""The C++ engine in CPython, through ctypes: what `WasmBackend` talks to in tests."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np

from tabgrad.backends.base import Draw
from tabgrad.backends.wasm_abi import SHARING, TILES
from tabgrad.errors import BackendError
from tabgrad.plan import Plan
from tabgrad.tensors import Array

_SIZE = ctypes.c_size_t
_POINTER = ctypes.c_void_p


def load_library(path: Path) -> ctypes.CDLL:
    """Return the library with the types of its exports."""
    library = ctypes.CDLL(str(path))
    library.tg_open.argtypes = [_SIZE, _SIZE, ctypes.c_int]
    library.tg_open.restype = _POINTER
    library.tg_room.argtypes = [_SIZE]
    library.tg_room.restype = _POINTER
    library.tg_load.argtypes = [_POINTER, _SIZE]
    library.tg_run.argtypes = [ctypes.c_int, ctypes.c_int]
    words = [ctypes.c_uint32] * 4
    library.tg_tile_gflops.restype = ctypes.c_float
    library.tg_fill_normals.argtypes = [_SIZE, _SIZE, *words, ctypes.c_float]
    return library


class Fence:
    """Makes the address sanitizer refuse whatever lies between tensors."""

    def __init__(self, library: ctypes.CDLL) -> None:
        """Find the sanitizer's functions.

        Raises:
            AttributeError: the library is built without it.
        """
        self._poison = library["__asan_poison_memory_region"]
        self._unpoison = library["__asan_unpoison_memory_region"]
        for function in (self._poison, self._unpoison):
            function.argtypes = [_POINTER, _SIZE]

    def open_all(self, base: int, n_bytes: int) -> None:
        """Allow the whole range."""
        self._unpoison(base, n_bytes)

    def open_only(self, base: int, n_bytes: int, ranges: list[tuple[int, int]]) -> None:
        """Allow (start, bytes) ranges from base on and nothing else."""
        self._poison(base, n_bytes)
        for start, size in ranges:
            self._unpoison(base + start, size)


class NativeEngine:
    """One engine; the library holds one at a time."""

    def __init__(
        self,
        library: ctypes.CDLL,
        arena_bytes: int,
        thread_bytes: int,
        threads: int,
        tile: int,
    ) -> None:
        """Open it; a tile less than 0 leaves the one that it has.

        Raises:
            BackendError: there is no such memory.
        """
        self.adapter = f"native, {threads} threads"
        self.arena_bytes = arena_bytes
        self._library = library
        self.base = library.tg_open(arena_bytes, thread_bytes, threads)
        if not self.base:
            library.tg_close()
            raise BackendError(f"no memory for {arena_bytes:,} bytes")
        self.tile = library.tg_use_tile(tile)

    def load(self, plan: bytes) -> None:
        """Take a plan."""
        room = self._library.tg_room(len(plan))
        ctypes.memmove(room, plan, len(plan))
        status = self._library.tg_load(room, len(plan))
        if status:
            raise BackendError(f"tg_load: status {status}")

    def run(self, program: int, n_steps: int) -> None:
        """Run a program."""
        status = self._library.tg_run(program, n_steps)
        if status:
            raise BackendError(f"tg_run: status {status}")

    def fill_normals(self, offset: int, count: int, draw: Draw) -> None:
        """Draw weights."""
        status = self._library.tg_fill_normals(offset, count, *draw.words, draw.std)
        if status:
            raise BackendError(f"tg_fill_normals: status {status}")

    def write(self, offset: int, values: Array) -> None:
        """Copy an array in."""
        ctypes.memmove(self.base + offset, values.ctypes.data, values.nbytes)

    def read(self, offset: int, into: Array) -> None:
        """Copy an array out."""
        ctypes.memmove(into.ctypes.data, self.base + offset, into.nbytes)

    def free(self) -> None:
        """Close it; may be called twice."""
        if self.base:
            self._library.tg_close()
        self.base = 0


class NativeHost:
    """Opens native engines with a given number of threads, and tile."""

    def __init__(self, library: ctypes.CDLL, threads: int, tile: int = -1) -> None:
        """Keep the library."""
        self.library = library
        self.threads = threads
        self.tile = tile
        self.engine: NativeEngine | None = None

    async def open(self, arena_bytes: int, thread_bytes: int) -> NativeEngine:
        """Open an engine."""
        self.engine = NativeEngine(
            self.library, arena_bytes, thread_bytes, self.threads, self.tile
        )
        return self.engine


def tiles_of(op_name: str) -> list[int]:
    """Return the tiles to run an op with: all for a product, the first for others."""
    return list(range(len(TILES) if op_name in SHARING else 1))


def tensor_ranges(plan: Plan, starts: dict[str, int]) -> list[tuple[int, int]]:
    """Return (start, bytes) of each tensor in the arena."""
    return [
        (starts[plan.places[name].storage] + plan.places[name].offset, tensor.n_bytes)
        for name, tensor in plan.tensors.items()
    ]


def equal_bits(a: Array, b: Array) -> bool:
    """Return whether two arrays hold the same bits."""
    return np.array_equal(a.view(np.uint32), b.view(np.uint32))
