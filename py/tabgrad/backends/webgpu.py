"""The WebGPU backend: makes everything that a plan needs on the device, once.

Buffers, shader modules, pipelines and bind groups are made here, in Python; steps are
then replayed by a player in JavaScript from a list of numbers, with one crossing of the
border for a whole chunk.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tabgrad.backends.base import Progress, no_progress
from tabgrad.backends.choice import BaseRows, Chooser
from tabgrad.backends.id_bounds import id_bounds
from tabgrad.backends.variant import Variant
from tabgrad.backends.webgpu_host import ErrorScopes, GpuHost, JsObject, js_message
from tabgrad.backends.webgpu_kernels import Pipelines
from tabgrad.backends.webgpu_memory import allocate, check_fits, destroy, usable_bytes
from tabgrad.backends.webgpu_transfers import Loaded, Transfers
from tabgrad.backends.wgsl import Kernel, assemble_passes
from tabgrad.errors import BackendError
from tabgrad.ops import Call
from tabgrad.plan import Plan
from tabgrad.tensors import ITEM_BYTES, Array

SLICE_BYTES = 1 << 24  # larger transfers go in parts, so that staging stays small
SCRATCH = "scratch"  # the buffer that passes of one call share
_DISPATCH = 0  # opcode of players/webgpu.js
_Programs = Mapping[str, Sequence[tuple[Call, Kernel]]]


@dataclass(frozen=True)
class Part:
    """Kernels of a program, by number, that a pass repeats."""

    program: str
    kernels: range
    repeats: int


class WebgpuBackend:
    """Runs plans on the GPU device of a host.

    `max_storage_bytes` is the largest buffer that the device binds: plan with it;
    `chooser` chooses the kernels of the plans to come.
    """

    name = "webgpu"
    max_in_flight = 3
    is_grouped = True
    has_decode = False  # a row has as many launches as a window, and kernels to tune

    def __init__(
        self,
        host: GpuHost,
        chooser: Chooser | None = None,
        pipelines: Pipelines | None = None,
    ) -> None:
        """Make a backend with no plan; it takes base kernels without a chooser.

        Args:
            host: the device.
            chooser: of kernels.
            pipelines: what other backends compile, too; its own, those of the last plan
                alone, if None.
        """
        self._host = host
        self.chooser: Chooser = chooser or BaseRows()
        self.adapter = host.adapter_name
        self.max_storage_bytes = usable_bytes(host.device.limits)
        self._pipelines = pipelines or Pipelines(host)
        self._loaded: Loaded | None = None

    @property
    def warnings(self) -> Sequence[str]:
        """What the compiler said of the kernels compiled last, short of errors."""
        return self._pipelines.warnings

    @property
    def host_ms(self) -> float:
        """Milliseconds that the page took to encode steps, all runs together."""
        return float(self._host.player.hostMs)

    async def prepare(self, plan: Plan, progress: Progress = no_progress) -> None:
        """Compile the kernels and allocate the storages, as zeros.

        Raises:
            BackendError: a storage does not fit, a kernel does not compile, or the
                device is lost.
        """
        try:
            await self._prepare(plan, progress)
        except BackendError as error:
            lost = str(await self._host.player.whyLost())
            if not lost:
                raise
            raise BackendError(f"WebGPU: {lost}") from error

    async def _prepare(self, plan: Plan, progress: Progress) -> None:
        self.free()
        self._check_alive()
        pick = await self.chooser.choose(plan, progress)
        rows = {
            name: [(call, pick(name, call)) for call in calls]
            for name, calls in plan.programs.items()
        }
        programs: _Programs = {
            name: [(c, kernel) for c, row in calls for kernel in self._kernels(c, row)]
            for name, calls in rows.items()
        }
        wanted = [(k, c.op) for calls in programs.values() for c, k in calls]
        scratch = max((kernel.scratch_bytes for kernel, _ in wanted), default=0)
        storages = {**plan.storages, **({SCRATCH: scratch} if scratch else {})}
        check_fits(storages, self.max_storage_bytes, self.adapter)
        pipelines = await self._pipelines.compile(wanted, progress)
        buffers = await allocate(self._host, storages)
        number = {name: i for i, name in enumerate(buffers)}
        loaded = Loaded(plan, id_bounds(plan), number, buffers, rows)
        try:
            await self._load(loaded, programs, pipelines)
            self._check_alive()
        except BackendError:
            destroy(buffers)
            raise
        self._loaded = loaded

    def _check_alive(self) -> None:
        if self._host.player.failure:
            raise BackendError(f"WebGPU: {self._host.player.failure}")

    def _kernels(self, call: Call, row: Variant) -> tuple[Kernel, ...]:
        kernels = assemble_passes(call, row)
        most = int(self._host.device.limits.maxComputeWorkgroupsPerDimension)
        for kernel in kernels:
            if max(kernel.groups) > most:
                x, y = kernel.groups
                raise BackendError(
                    f"kernel {kernel.label}: got a dispatch of {x} x {y} workgroups, "
                    f"wanted at most {most} each way; choose a smaller preset or "
                    "batch_size"
                )
        return kernels

    async def _load(
        self, loaded: Loaded, programs: _Programs, pipelines: Mapping[str, JsObject]
    ) -> None:
        """Make the bind groups and hand the programs to the player."""
        host = self._host
        number = {source: i for i, source in enumerate(pipelines)}
        groups: list[JsObject] = []
        commands: list[JsObject] = []
        try:
            with ErrorScopes(host) as scopes:
                for calls in programs.values():
                    words: list[int] = []
                    for call, kernel in calls:
                        at = (number[kernel.source], len(groups))
                        words += [_DISPATCH, *at, *kernel.groups]
                        groups.append(self._bind_group(loaded, call, kernel))
                    commands.append(host.bytes_to_js(np.array(words, np.int32)))
        except host.js_error as error:
            raise BackendError(f"WebGPU bind groups: {js_message(error)}") from error
        refused = await scopes.first_error()
        if refused:
            raise BackendError(f"WebGPU bind groups: {refused}")
        lists = (loaded.buffers.values(), pipelines.values(), groups, programs)
        arrays = [host.to_js(list(values)) for values in (*lists, commands)]
        loaded.handle = host.player.load(*arrays)

    def _bind_group(self, loaded: Loaded, call: Call, kernel: Kernel) -> JsObject:
        entries = []
        for binding, arg in enumerate(call.op.args):
            tensor = call.args[arg.name]
            place = loaded.plan.places[tensor]
            bound = {
                "buffer": loaded.buffers[place.storage],
                "offset": place.offset,
                "size": loaded.plan.tensors[tensor].n_bytes,
            }
            entries.append({"binding": binding, "resource": bound})
        if kernel.scratch_bytes:
            whole = {"buffer": loaded.buffers[SCRATCH], "size": kernel.scratch_bytes}
            entries.append({"binding": len(entries), "resource": whole})
        args = ", ".join(f"{name}={tensor}" for name, tensor in call.args.items())
        wanted = {
            "label": f"{call.op.name}({args})",
            "layout": self._pipelines.layouts.bind_group(call.op, kernel),
            "entries": entries,
        }
        return self._host.device.createBindGroup(self._host.to_js(wanted))

    async def run(
        self,
        program: str,
        n_steps: int,
        writes: Mapping[str, Array],
        reads: Sequence[str] = (),
    ) -> dict[str, Array]:
        """Queue writes and steps, return what is read after them; see `Backend.run`."""
        loaded = self._require()
        if program not in loaded.plan.programs:
            known = ", ".join(loaded.plan.programs)
            raise BackendError(f"program: got {program!r}, wanted {known}")
        written, read = Transfers(), Transfers()
        for name, values in writes.items():
            written.write(loaded, name, values, 0)
        for name in reads:
            read.read(loaded, name, 0, loaded.size(name))
        raw = await self._play(loaded, program, n_steps, written, read)
        out: dict[str, Array] = {}
        for name, (_, _, start, n_bytes) in zip(reads, read.rows, strict=True):
            count = n_bytes // ITEM_BYTES
            flat = np.frombuffer(raw, loaded.dtype(name), count, start)
            out[name] = flat.reshape(loaded.plan.tensors[name].shape).copy()
        return out

    def parts(self, program: str) -> list[tuple[Call, str, range]]:
        """Return the calls of a program, their rows, and which kernels they are."""
        out: list[tuple[Call, str, range]] = []
        at = 0
        for call, row in self._require().rows[program]:
            out.append((call, row.name, range(at, at + len(row.passes))))
            at += len(row.passes)
        return out

    async def time_ms(
        self, warm_up: Part, parts: Sequence[Part], rounds: int
    ) -> list[list[float]]:
        """Return milliseconds of the passes of each part; parts take turns.

        Args:
            warm_up: runs first, untimed: an idle device runs at lower clocks.
            parts: what to time; the tensors hold nonsense afterwards.
            rounds: passes of each part.

        Raises:
            BackendError: the device failed.
        """
        loaded, host = self._require(), self._host
        first, *others = (
            {
                "program": part.program,
                "first": part.kernels.start,
                "count": len(part.kernels),
                "repeats": part.repeats,
            }
            for part in (warm_up, *parts)
        )
        given = (host.to_js(first), host.to_js(others), rounds)
        try:
            got = await host.player.time(loaded.handle, *given)
        except host.js_error as error:
            raise BackendError(f"WebGPU: {js_message(error)}") from error
        ms = np.frombuffer(host.bytes_from_js(got)).reshape(rounds, len(parts))
        times: list[list[float]] = ms.T.tolist()
        return times

    async def write(self, tensor: str, values: Array, start: int = 0) -> None:
        """Write elements `start` on of a tensor, in order with the runs."""
        await self._write_all([(tensor, values, start)])

    async def write_all(self, arrays: Mapping[str, Array]) -> None:
        """Write whole tensors, in order with the runs."""
        await self._write_all([(name, values, 0) for name, values in arrays.items()])

    async def _write_all(self, rows: Iterable[tuple[str, Array, int]]) -> None:
        """Write elements from a start on of tensors, as many as a transfer takes."""
        loaded = self._require()
        part, room = Transfers(), SLICE_BYTES // ITEM_BYTES
        for tensor, values, start in rows:
            flat = values.reshape(-1)
            first = 0
            while first < flat.size:
                piece = flat[first : first + room]
                part.write(loaded, tensor, piece, start + first)
                first += piece.size
                room -= piece.size
                if room == 0:
                    await self._play(loaded, "", 0, part, Transfers())
                    part, room = Transfers(), SLICE_BYTES // ITEM_BYTES
        if part.rows:
            await self._play(loaded, "", 0, part, Transfers())

    async def read(self, tensor: str, start: int = 0, count: int = -1) -> Array:
        """Return `count` elements (all that follow if -1) from `start`, flat."""
        loaded = self._require()
        loaded.check_range(tensor, start, max(count, 0))
        left = loaded.size(tensor) - start
        out = np.empty(left if count < 0 else count, loaded.dtype(tensor))
        step = SLICE_BYTES // ITEM_BYTES
        for first in range(0, out.size, step):
            size = min(step, out.size - first)
            part = Transfers()
            part.read(loaded, tensor, start + first, size)
            raw = await self._play(loaded, "", 0, Transfers(), part)
            out[first : first + size] = np.frombuffer(raw, out.dtype)
        return out

    def free(self) -> None:
        """Destroy the buffers; pipelines stay for the next plan."""
        if self._loaded is None:
            return
        self._host.player.unload(self._loaded.handle)
        destroy(self._loaded.buffers)
        self._loaded = None

    def _require(self) -> Loaded:
        if self._loaded is None:
            raise BackendError("webgpu: used before prepare or after free")
        return self._loaded

    async def _play(
        self,
        loaded: Loaded,
        program: str,
        n_steps: int,
        written: Transfers,
        read: Transfers,
    ) -> bytes:
        host = self._host
        packed = np.concatenate([np.empty(0, np.uint8), *written.parts])
        tables = [
            host.bytes_to_js(np.array(rows, np.float64))
            for rows in (written.rows, read.rows)
        ]
        try:
            got = await host.player.run(
                loaded.handle, program, n_steps, host.bytes_to_js(packed), *tables
            )
        except host.js_error as error:
            raise BackendError(f"WebGPU: {js_message(error)}") from error
        return host.bytes_from_js(got)
