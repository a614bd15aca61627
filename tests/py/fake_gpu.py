"""A GPU device that computes nothing: it records what is asked, and fails on order."""

from __future__ import annotations

from collections.abc import Callable, Generator
from types import SimpleNamespace
from typing import Any

import numpy as np


class FakeJsError(Exception):
    """What JavaScript throws."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class Promise:
    """Awaitable at any time or never; an exception is what it rejects with."""

    def __init__(self, value: Any = None) -> None:
        self.value = value

    def __await__(self) -> Generator[None, None, Any]:
        yield from ()
        if isinstance(self.value, Exception):
            raise self.value
        return self.value


class FakeBuffer:
    def __init__(self, wanted: dict[str, Any]) -> None:
        self.label, self.size = wanted["label"], wanted["size"]
        self.is_destroyed = False

    def destroy(self) -> None:
        self.is_destroyed = True


class FakeDevice:
    """`fail` maps a method to what it throws or, for scopes, what they catch."""

    def __init__(self, **limits: int) -> None:
        defaults = {
            "maxBufferSize": 1 << 30,
            "maxStorageBufferBindingSize": 1 << 30,
            "maxComputeWorkgroupsPerDimension": 65_535,
        }
        self.limits = SimpleNamespace(**{**defaults, **limits})
        self.buffers: list[FakeBuffer] = []
        self.layouts: list[dict[str, Any]] = []
        self.bind_groups: list[dict[str, Any]] = []
        self.modules: list[dict[str, Any]] = []
        self.pipelines: list[dict[str, Any]] = []
        self.messages: list[SimpleNamespace] = []
        self.before_buffer: Callable[[str], None] = lambda _: None
        self.pipeline_error: Exception | None = None
        self.scope_depth = 0
        self.caught: list[SimpleNamespace] = []  # what the next closed scope gives

    def pushErrorScope(self, _: str) -> None:  # noqa: N802
        self.scope_depth += 1

    def popErrorScope(self) -> Any:  # noqa: N802
        self.scope_depth -= 1
        return Promise(self.caught.pop() if self.caught else None)

    def createBuffer(self, wanted: dict[str, Any]) -> FakeBuffer:  # noqa: N802
        assert self.scope_depth > 0, "made outside error scopes"
        self.before_buffer(wanted["label"])
        self.buffers.append(FakeBuffer(wanted))
        return self.buffers[-1]

    def createBindGroupLayout(self, wanted: dict[str, Any]) -> Any:  # noqa: N802
        self.layouts.append(wanted)
        return wanted

    def createPipelineLayout(self, wanted: dict[str, Any]) -> Any:  # noqa: N802
        return wanted

    def createBindGroup(self, wanted: dict[str, Any]) -> Any:  # noqa: N802
        assert self.scope_depth > 0, "made outside error scopes"
        self.bind_groups.append(wanted)
        return wanted

    def createShaderModule(self, wanted: dict[str, Any]) -> Any:  # noqa: N802
        assert self.scope_depth > 0, "made outside error scopes"
        self.modules.append(wanted)
        report = SimpleNamespace(messages=self.messages)
        return SimpleNamespace(getCompilationInfo=lambda: Promise(report))

    def createComputePipelineAsync(self, wanted: dict[str, Any]) -> Any:  # noqa: N802
        self.pipelines.append(wanted)
        return Promise(self.pipeline_error or wanted)


class FakePlayer:
    """Gives back bytes that count up; keeps what it was given."""

    def __init__(self) -> None:
        self.failure = ""
        self.programs: dict[str, list[int]] = {}
        self.runs: list[tuple[Any, ...]] = []
        self.run_error: Exception | None = None
        self.why_lost = ""
        self.unloaded = 0

    def load(
        self,
        buffers: list[Any],
        pipelines: list[Any],
        groups: list[Any],
        names: list[str],
        commands: list[bytes],
    ) -> object:
        words = [np.frombuffer(c, np.int32).tolist() for c in commands]
        self.programs = dict(zip(names, words, strict=True))
        self.sizes = (len(buffers), len(pipelines), len(groups))
        return "handle"

    def whyLost(self) -> Any:  # noqa: N802 - JavaScript's name
        return Promise(self.why_lost or self.failure)

    def unload(self, handle: object) -> None:
        assert handle == "handle"
        self.unloaded += 1

    def run(self, *given: Any) -> Any:
        _, program, steps, packed, writes, reads = given
        tables = [np.frombuffer(t).reshape(-1, 4).astype(int) for t in (writes, reads)]
        self.runs.append((program, steps, packed, *(t.tolist() for t in tables)))
        n_bytes = int(tables[1][:, 3].sum())
        counting = np.arange(n_bytes // 4, dtype=np.uint32).tobytes()
        return Promise(self.run_error or counting)


class FakeHost:
    adapter_name = "a fake GPU"
    features = frozenset({"timestamp-query"})
    js_error = FakeJsError

    def __init__(self, **limits: int) -> None:
        self.device = FakeDevice(**limits)
        self.player = FakePlayer()

    def to_js(self, value: Any) -> Any:
        return value

    def bytes_to_js(self, values: Any) -> bytes:
        return bytes(values.tobytes())

    def bytes_from_js(self, buffer: bytes) -> bytes:
        return buffer
