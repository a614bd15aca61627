"""The WASM backend: the C++ engine runs whole programs, a chunk of steps a call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

from tabgrad.backends.base import Draw, Progress, no_progress
from tabgrad.backends.id_bounds import check_ids, id_bounds
from tabgrad.backends.wasm_abi import (
    TILE_NAMES,
    Arena,
    lay_out,
    scratch_bytes,
    serialise,
)
from tabgrad.backends.wasm_room import NoRoomError, room_words
from tabgrad.errors import BackendError
from tabgrad.plan import Plan
from tabgrad.tensors import ITEM_BYTES, NUMPY_DTYPE, Array

# An engine has at least this much, so that small plans in turn share one: a browser
# holds only some dozens of memories, and lets go of one late.
_LEAST_ARENA_BYTES = 64 << 20
_LEAST_THREAD_BYTES = 1 << 20
_PLAIN_BUILDS = ("engine64", "engine32", "engine32st")
BUILDS = (*_PLAIN_BUILDS, *(f"{name}fma" for name in _PLAIN_BUILDS))


class WasmEngine(Protocol):
    """One instance of the module: its memory has one size for life.

    Offsets are bytes from the start of the arena. Every method but `free` may raise
    BackendError; nothing may be called after `free` but `free`.
    """

    adapter: str  # such as "WASM 32-bit, 2 threads, FMA"
    threads: int
    tile: int  # that products are made of, by its place in TILES
    tile_gflops: Sequence[float]  # of a thread with each tile; 0 if not timed

    def load(self, plan: bytes) -> None:
        """Take a serialised plan; its arena becomes zeros."""

    def run(self, program: int, n_steps: int) -> None:
        """Run a program of the plan, by number, and return when it is done."""

    def time(self, program: int, n_steps: int, n_calls: int) -> Array:
        """Run a program of so many calls; return ms, (steps, calls)."""

    def peak_gflops(self) -> float:
        """Return what one thread multiplies and adds at most."""

    def use_tile(self, tile: int) -> None:
        """Make products of a tile from now on, with the same results to the bit."""

    def fill_normals(self, offset: int, count: int, draw: Draw) -> None:
        """Draw floats into the arena."""

    def write(self, offset: int, values: Array) -> None:
        """Copy a contiguous array into the arena."""

    def read(self, offset: int, into: Array) -> None:
        """Fill a contiguous array from the arena."""

    def free(self) -> None:
        """End the threads and let go of the memory."""


class WasmHost(Protocol):
    """What can start the engine: the bridge in a tab, ctypes in tests."""

    async def open(self, arena_bytes: int, thread_bytes: int) -> WasmEngine:
        """Start an engine whose memory holds an arena and scratch for its threads.

        Args:
            arena_bytes: room for tensors.
            thread_bytes: scratch for each thread; the host chooses their number.

        Raises:
            NoRoomError: the page cannot have that much memory.
            BackendError: no engine starts.
        """


class WasmBackend:
    """Keeps one engine and opens a new one where a plan does not fit it."""

    name = "wasm"
    max_in_flight = 1
    is_grouped = False
    has_decode = True

    def __init__(self, host: WasmHost) -> None:
        """Make a backend with no engine and no plan."""
        self.adapter = "WASM"
        self._host = host
        self._engine: WasmEngine | None = None
        self._room = (0, 0)
        self._plan: Plan | None = None
        self._arena = Arena({}, 0, 0)
        self._programs: list[str] = []
        self._bounds: dict[str, int] = {}

    async def prepare(self, plan: Plan, progress: Progress = no_progress) -> None:
        """Start an engine large enough, unless one is there, and load the plan.

        Raises:
            NoRoomError: the page cannot have the memory; says what would fit.
            BackendError: no engine starts.
        """
        self._plan = None
        arena = lay_out(plan)
        calls = [call for program in plan.programs.values() for call in program]
        need = (arena.n_bytes, scratch_bytes(calls))
        if need[0] > self._room[0] or need[1] > self._room[1]:
            self.free()
        if self._engine is None:
            progress("engine", 0, 1)
            room = (max(need[0], _LEAST_ARENA_BYTES), max(need[1], _LEAST_THREAD_BYTES))
            try:
                self._engine = await self._host.open(*room)
            except NoRoomError as error:
                words = room_words(plan, error.most_bytes)
                raise NoRoomError(f"{error} {words}", error.most_bytes) from error
            self._room = room
            tile = TILE_NAMES[self._engine.tile]
            self.adapter = f"{self._engine.adapter}, {tile} tiles"
        self._engine.load(serialise(plan, arena))
        self._plan, self._arena = plan, arena
        self._programs = list(plan.programs)
        self._bounds = id_bounds(plan)
        progress("engine", 1, 1)

    async def run(
        self,
        program: str,
        n_steps: int,
        writes: Mapping[str, Array],
        reads: Sequence[str] = (),
    ) -> dict[str, Array]:
        """Run a program inside the module; see `Backend.run`."""
        engine, plan = self._ready()
        for name, values in writes.items():
            await self.write(name, values)
        engine.run(self._programs.index(program), n_steps)
        arrays = {}
        for name in reads:
            shape = plan.tensors[name].shape
            arrays[name] = (await self.read(name)).reshape(shape)
        return arrays

    def time(self, program: str, n_steps: int) -> Array:
        """Run a program; return the ms of each call of each step, (steps, calls)."""
        engine, plan = self._ready()
        number = self._programs.index(program)
        return engine.time(number, n_steps, len(plan.programs[program]))

    def facts(self) -> dict[str, object]:
        """Return the engine in words, its threads, and what one of them does.

        `tile` is the one of the products, and `tile_gflops` what each was timed at when
        the engine started, or nothing where the clock or the time did not do.
        """
        engine, _ = self._ready()
        timed = dict(zip(TILE_NAMES, engine.tile_gflops, strict=True))
        return {
            "adapter": self.adapter,
            "threads": engine.threads,
            "peak_gflops": engine.peak_gflops(),
            "tile": TILE_NAMES[engine.tile],
            "tile_gflops": timed if all(timed.values()) else {},
        }

    def use_tile(self, name: str) -> None:
        """Make products of a tile of TILE_NAMES from now on."""
        engine, _ = self._ready()
        engine.use_tile(TILE_NAMES.index(name))

    async def fill_normals(self, tensor: str, draw: Draw) -> None:
        """Draw a tensor inside the module; see `DrawsNormals`."""
        engine, plan = self._ready()
        size = plan.tensors[tensor].size
        engine.fill_normals(self._offset(plan, tensor, 0), size, draw)

    async def write(self, tensor: str, values: Array, start: int = 0) -> None:
        """Write elements from `start` on.

        Raises:
            BackendError: they do not fit the tensor, or are ids that point nowhere.
        """
        engine, plan = self._ready()
        target = plan.tensors[tensor]
        dtype = NUMPY_DTYPE[target.dtype]
        if values.dtype != dtype or start + values.size > target.size:
            raise BackendError(
                f"write to {tensor}: got {values.size} {values.dtype} from {start}, "
                f"wanted at most {target.size - start} {dtype}"
            )
        check_ids(self._bounds, tensor, values)
        engine.write(self._offset(plan, tensor, start), np.ascontiguousarray(values))

    async def read(self, tensor: str, start: int = 0, count: int = -1) -> Array:
        """Return a copy of `count` elements from `start`, flat."""
        engine, plan = self._ready()
        source = plan.tensors[tensor]
        n = source.size - start if count < 0 else count
        if start + n > source.size:
            raise BackendError(
                f"read of {tensor}: got elements {start} to {start + n}, wanted at "
                f"most {source.size}"
            )
        values: Array = np.empty(n, NUMPY_DTYPE[source.dtype])
        engine.read(self._offset(plan, tensor, start), values)
        return values

    def free(self) -> None:
        """End the engine: its threads stop and its memory is let go."""
        if self._engine is not None:
            self._engine.free()
        self._engine = None
        self._plan = None
        self._room = (0, 0)

    def _ready(self) -> tuple[WasmEngine, Plan]:
        if self._engine is None or self._plan is None:
            raise BackendError("wasm: used before prepare, or after free")
        return self._engine, self._plan

    def _offset(self, plan: Plan, tensor: str, start: int) -> int:
        return self._arena.offset(plan, tensor) + start * ITEM_BYTES
