"""The border to JavaScript: the only file that imports `js` and `pyodide.ffi`.

The worker calls `start` once and then awaits the engine's `call`: JSON in, JSON out,
events as JSON. No proxy of a Python object crosses but the engine itself.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from js import Object, Uint8Array
from numpy.typing import NDArray
from pyodide.ffi import JsException, to_js

from tabgrad.backends.base import Draw
from tabgrad.backends.choice import BaseRows, Chooser, ForcedRows
from tabgrad.backends.lab_bench import LabBench, StepClock
from tabgrad.backends.tuner import Tuner
from tabgrad.backends.tuner_bench import GpuBench
from tabgrad.backends.wasm import WasmBackend
from tabgrad.backends.wasm_abi import TILE_NAMES
from tabgrad.backends.wasm_room import NoRoomError
from tabgrad.backends.webgpu import WebgpuBackend
from tabgrad.backends.webgpu_host import JsObject, js_message
from tabgrad.bridge_backends import Found, NumpyOpener, Opener
from tabgrad.bridge_engine import Engine
from tabgrad.bridge_kernels import AUTO, Kernels, Settings
from tabgrad.errors import BackendError
from tabgrad.plan import NO_LIMIT
from tabgrad.tensors import Array

_PROBE_BYTES = 4096
_NO_TILE = -1  # leaves the tile as it is


class Page(Protocol):
    """What the worker gives: a JavaScript object."""

    build: str
    kernelStore: JsObject  # noqa: N815 - KernelStore of site/js/kernel_store.js

    def emit(self, event: str) -> None:
        """Take an event as JSON."""

    def breathe(self) -> Awaitable[JsObject]:
        """Return a promise that waits until messages of the page are through."""

    def browserName(self) -> Awaitable[str]:  # noqa: N802 - JavaScript's name
        """Return the browser and its version."""

    def openGpu(self) -> Awaitable[JsObject]:  # noqa: N802 - JavaScript's name
        """Return a device with its player, or why there is none."""

    def openWasm(  # noqa: N802 - JavaScript's name
        self,
        arena_bytes: int,
        thread_bytes: int,
        threads: int | None,
        build: str | None,
        tile: int | None,
    ) -> Awaitable[JsObject]:
        """Return a fresh instance of the C++ engine."""


def start(page: Page) -> Engine:
    """Return the engine of a worker."""
    webgpu, wasm = _WebgpuOpener(page), _WasmOpener(page)
    openers: dict[str, Opener] = {
        "webgpu": webgpu,
        "wasm": wasm,
        "numpy": NumpyOpener(),
    }

    async def breathe() -> None:
        await page.breathe()

    return Engine(page.emit, openers, JsException, breathe, webgpu, lend=wasm.lend)


def _bytes_to_js(values: NDArray[Any]) -> JsObject:
    """Return a Uint8Array with a copy of a contiguous array."""
    copy = Uint8Array.new(values.nbytes)
    if values.nbytes:
        copy.assign(values.data.cast("B"))
    return copy


class _GpuHost:
    """A device of the browser's, as the WebGPU backend wants it."""

    js_error: type[Exception] = JsException

    def __init__(self, opened: JsObject) -> None:
        self.adapter_name = str(opened.adapterName)
        self.features: frozenset[str] = frozenset(str(name) for name in opened.features)
        self.device = opened.device
        self.player = opened.player
        self.opened = opened
        room = int(self.device.limits.maxComputeWorkgroupStorageSize)
        self.kernel_limits = (self.features, room)

    def to_js(self, value: object) -> JsObject:
        return to_js(value, dict_converter=Object.fromEntries)

    def bytes_to_js(self, values: NDArray[Any]) -> JsObject:
        return _bytes_to_js(values)

    def bytes_from_js(self, buffer: JsObject) -> bytes:
        return bytes(buffer.to_bytes())


class _WebgpuOpener:
    """Opens one device for all uses, and a fresh one after it was lost."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._gpu: _GpuHost | None = None
        self._tuner: Tuner | None = None
        self._why_not_tuned = "no GPU was opened"

    async def probe(self) -> Found:
        opened = await self._page.openGpu()
        if not opened.ok:
            raise BackendError(str(opened.reason))
        self._gpu = gpu = _GpuHost(opened)
        found = Found(
            gpu.adapter_name,
            bool(opened.isSoftware),
            is_grouped=WebgpuBackend.is_grouped,
            has_decode=WebgpuBackend.has_decode,
        )
        self._tuner, self._why_not_tuned = None, ""
        if found.is_software:
            self._why_not_tuned = (
                f"{found.adapter} is a software adapter: it takes the base kernels"
            )
        else:
            browser = await self._page.browserName()
            identity = f"{gpu.adapter_name} | {browser} | {self._page.build}"
            store = self._page.kernelStore
            first = GpuBench(gpu)
            benches = (first, GpuBench(gpu, beside=first))
            self._tuner = Tuner(benches, store, identity, gpu.kernel_limits)
        return found

    async def open(self, settings: Settings) -> WebgpuBackend:
        gpu = await self._usable()
        return WebgpuBackend(gpu, self._chooser(gpu, settings.kernels))

    async def _usable(self) -> _GpuHost:
        if self._gpu is None or self._gpu.player.failure:
            await self.probe()
        if self._gpu is None:
            raise BackendError("WebGPU: no device was opened")
        return self._gpu

    def _chooser(self, gpu: _GpuHost, kernels: Kernels) -> Chooser:
        if not isinstance(kernels, str):
            return ForcedRows(kernels, *gpu.kernel_limits)
        return (self._tuner if kernels == AUTO else None) or BaseRows()

    async def bench(self) -> tuple[GpuBench, tuple[frozenset[str], int]]:
        gpu = await self._usable()
        return GpuBench(gpu, NO_LIMIT), gpu.kernel_limits

    async def lab(self) -> tuple[LabBench, StepClock]:
        gpu = await self._usable()

        async def clock(sources: Mapping[str, str]) -> list[dict[str, Any]]:
            found = await gpu.opened.timeSteps(json.dumps(sources))
            rows: list[dict[str, Any]] = json.loads(str(found))
            return rows

        return LabBench(gpu, gpu.kernel_limits), clock

    async def report(self) -> dict[str, Any]:
        tuner = self._tuner
        return {
            "why": self._why_not_tuned,
            "holds_for": tuner.identity if tuner else "",
            "seconds": tuner.seconds if tuner else 0.0,
            "rows": await tuner.table() if tuner else [],
            "not_kept": str(self._page.kernelStore.refusal) if tuner else "",
        }

    def cut_short(self) -> None:
        if self._tuner:
            self._tuner.cut_short()

    async def forget(self) -> None:
        if self._tuner:
            await self._tuner.forget()


class _WasmInstance:
    """An instance of the C++ engine, as the WASM backend wants it."""

    def __init__(self, engine: JsObject) -> None:
        self._engine = engine
        self.adapter = str(engine.adapter)
        self.threads = int(engine.threads)
        self.tile = int(engine.useTile(_NO_TILE))
        rates = [float(engine.tileGflops(tile)) for tile in range(len(TILE_NAMES))]
        self.tile_gflops: Sequence[float] = rates

    def load(self, plan: bytes) -> None:
        words = np.frombuffer(plan, np.uint8)
        self._cross(self._engine.load, _bytes_to_js(words))

    def run(self, program: int, n_steps: int) -> None:
        self._cross(self._engine.run, program, n_steps)

    def time(self, program: int, n_steps: int, n_calls: int) -> Array:
        ends = np.empty(1 + n_steps * n_calls)
        copy = self._cross(self._engine.time, program, n_steps, n_calls)
        copy.assign_to(ends.data.cast("B"))
        return np.diff(ends).reshape(n_steps, n_calls)

    def peak_gflops(self) -> float:
        return float(self._cross(self._engine.peakGflops))

    def use_tile(self, tile: int) -> None:
        self.tile = int(self._cross(self._engine.useTile, tile))

    def fill_normals(self, offset: int, count: int, draw: Draw) -> None:
        fill = self._engine.fillNormals
        self._cross(fill, offset, count, *draw.words, draw.std)

    def write(self, offset: int, values: Array) -> None:
        self._cross(self._engine.write, offset, _bytes_to_js(values))

    def read(self, offset: int, into: Array) -> None:
        if into.nbytes:
            copy = self._cross(self._engine.read, offset, into.nbytes)
            copy.assign_to(into.data.cast("B"))

    def free(self) -> None:
        self._engine.free()

    def _cross(self, method: JsObject, *values: object) -> JsObject:
        try:
            return method(*values)
        except JsException as error:
            raise BackendError(f"WASM: {js_message(error)}") from error


class _WasmOpener:
    """Starts the C++ engine; each backend has an instance of its own."""

    def __init__(self, page: Page) -> None:
        self._page = page

    async def probe(self) -> Found:
        """Start the smallest engine, to know that it runs and on how many threads."""
        engine = await self.open_instance(_PROBE_BYTES, _PROBE_BYTES, Settings())
        engine.free()
        return Found(engine.adapter, threads=engine.threads)

    async def open(self, settings: Settings) -> WasmBackend:
        return WasmBackend(_WasmHost(self, settings))

    async def lend(self, n_bytes: int) -> _WasmInstance | None:
        """Start an engine to draw weights in.

        None where there is no memory for it: numpy draws the same bits, in more time.
        """
        no_products = Settings(tile=TILE_NAMES[0])  # so that no tile is timed
        try:
            return await self.open_instance(n_bytes, _PROBE_BYTES, no_products)
        except BackendError:
            return None

    async def open_instance(
        self, arena_bytes: int, thread_bytes: int, settings: Settings
    ) -> _WasmInstance:
        tile = None if settings.tile is None else TILE_NAMES.index(settings.tile)
        chosen = (settings.threads, settings.build, tile)
        try:
            opened = await self._page.openWasm(arena_bytes, thread_bytes, *chosen)
        except JsException as error:
            most_bytes = getattr(error, "mostBytes", None)  # of a NoRoomError
            if most_bytes is not None:
                raise NoRoomError(js_message(error), int(most_bytes)) from error
            raise BackendError(js_message(error)) from error
        return _WasmInstance(opened)


class _WasmHost:
    """What the WASM backend asks for an engine."""

    def __init__(self, opener: _WasmOpener, settings: Settings) -> None:
        self._opener = opener
        self._settings = settings

    async def open(self, arena_bytes: int, thread_bytes: int) -> _WasmInstance:
        return await self._opener.open_instance(
            arena_bytes, thread_bytes, self._settings
        )
