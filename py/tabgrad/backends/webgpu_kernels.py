"""Shader modules and pipelines of a device, made once for each distinct source."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence

from tabgrad.backends.base import Progress
from tabgrad.backends.webgpu_host import ErrorScopes, GpuHost, JsObject, js_message
from tabgrad.backends.wgsl import Kernel
from tabgrad.errors import BackendError
from tabgrad.ops import Op

_COMPUTE = 4  # GPUShaderStage.COMPUTE
AT_ONCE = 24  # kernels under way: more would hold up all else that the GPU is told


class Layouts:
    """Bind-group and pipeline layouts, by the access modes of a contract."""

    def __init__(self, host: GpuHost) -> None:
        """Make an empty collection."""
        self._host = host
        self._made: dict[tuple[str, ...], tuple[JsObject, JsObject]] = {}

    def bind_group(self, op: Op, kernel: Kernel) -> JsObject:
        """Return the layout of an op's arguments, in binding order, and scratch."""
        return self._of(op, kernel)[0]

    def pipeline(self, op: Op, kernel: Kernel) -> JsObject:
        """Return the layout of a pipeline whose only group is the op's."""
        return self._of(op, kernel)[1]

    def _of(self, op: Op, kernel: Kernel) -> tuple[JsObject, JsObject]:
        reads = [arg.access == "read" for arg in op.args]
        reads += [False] if kernel.scratch_bytes else []
        kinds = tuple("read-only-storage" if r else "storage" for r in reads)
        if kinds not in self._made:
            device, to_js = self._host.device, self._host.to_js
            entries = [
                {"binding": i, "visibility": _COMPUTE, "buffer": {"type": kind}}
                for i, kind in enumerate(kinds)
            ]
            group = device.createBindGroupLayout(to_js({"entries": entries}))
            wanted = to_js({"bindGroupLayouts": [group]})
            self._made[kinds] = (group, device.createPipelineLayout(wanted))
        return self._made[kinds]


class Pipelines:
    """Compiles kernels, several at once; those of the last plan are kept, or all."""

    def __init__(self, host: GpuHost, *, keeps_all: bool = False) -> None:
        """Make an empty collection."""
        self._keeps_all = keeps_all
        self._host = host
        self.layouts = Layouts(host)
        self._tasks: dict[str, asyncio.Task[JsObject]] = {}
        self._room = asyncio.Semaphore(AT_ONCE)
        self.warnings: list[str] = []

    async def compile(
        self, wanted: Sequence[tuple[Kernel, Op]], progress: Progress
    ) -> Mapping[str, JsObject]:
        """Return source -> pipeline, for each distinct kernel.

        Raises:
            BackendError: a kernel does not compile; the message names it.
        """
        self.warnings = []
        distinct = {kernel.source: (kernel, op) for kernel, op in wanted}
        found = await self._compile_all(distinct, progress)
        for result in found.values():
            if isinstance(result, BaseException):
                raise result
        if not self._keeps_all:
            self._tasks = {source: self._tasks[source] for source in distinct}
        return found

    async def compile_ahead(self, wanted: Iterable[tuple[Kernel, Op]]) -> None:
        """Compile what compiles; a kernel that does not fails when it is wanted."""
        tasks = []
        for kernel, op in wanted:
            tasks.append(self._task(kernel, op))
            await asyncio.sleep(0)  # those under way go on while the next is written
        await asyncio.gather(*tasks, return_exceptions=True)

    def is_under_way(self, kernel: Kernel) -> bool:
        """Return whether a kernel is being compiled; one that failed is not."""
        task = self._tasks.get(kernel.source)
        return task is not None and not task.done()

    async def _compile_all(
        self, distinct: Mapping[str, tuple[Kernel, Op]], progress: Progress
    ) -> dict[str, JsObject]:
        """Return source -> pipeline, or what went wrong."""
        tasks = [self._task(*pair) for pair in distinct.values()]
        done = sum(task.done() for task in tasks)
        progress("kernels", done, len(tasks))

        async def counted(task: asyncio.Task[JsObject]) -> JsObject:
            nonlocal done
            is_new = not task.done()
            result = await task
            done += is_new
            progress("kernels", done, len(tasks))
            return result

        results = await asyncio.gather(*map(counted, tasks), return_exceptions=True)
        return dict(zip(distinct, results, strict=True))

    def _task(self, kernel: Kernel, op: Op) -> asyncio.Task[JsObject]:
        """Return what compiles or has compiled a kernel; failures are not kept."""
        source = kernel.source
        if source not in self._tasks:
            self._tasks[source] = asyncio.ensure_future(self._in_turn(kernel, op))
        return self._tasks[source]

    async def _in_turn(self, kernel: Kernel, op: Op) -> JsObject:
        async with self._room:
            try:
                return await self._compile(kernel, op)
            except BackendError:
                del self._tasks[kernel.source]
                raise

    async def _compile(self, kernel: Kernel, op: Op) -> JsObject:
        device, to_js = self._host.device, self._host.to_js
        with ErrorScopes(self._host) as scopes:
            code = {"label": kernel.label, "code": kernel.source}
            module = device.createShaderModule(to_js(code))
        await self._check_module(kernel, module, await scopes.first_error())
        wanted = {
            "label": kernel.label,
            "layout": self.layouts.pipeline(op, kernel),
            "compute": {"module": module, "entryPoint": "main"},
        }
        try:
            return await device.createComputePipelineAsync(to_js(wanted))
        except self._host.js_error as error:
            raise BackendError(
                f"kernel {kernel.label}: the GPU made no pipeline: {js_message(error)}"
            ) from error

    async def _check_module(
        self, kernel: Kernel, module: JsObject, error: str | None
    ) -> None:
        try:
            report = await module.getCompilationInfo()
        except self._host.js_error as lost:
            error = error or js_message(lost)
            raise BackendError(f"kernel {kernel.label}: {error}") from lost
        lines = kernel.source.splitlines()
        faults: list[str] = []
        for message in report.messages:
            number = int(message.lineNum)
            line = lines[number - 1].strip() if 0 < number <= len(lines) else ""
            text = f"kernel {kernel.label}, {line!r}: {message.message}"
            target = faults if message.type == "error" else self.warnings
            target.append(text)
        if faults or error:
            words = "; ".join(faults) or f"kernel {kernel.label}: {error}"
            raise BackendError(f"the GPU does not compile {words}")
