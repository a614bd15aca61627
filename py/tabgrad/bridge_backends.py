"""Which backends this browser has, which one `auto` means, and their self-test."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from tabgrad.backends.base import Backend
from tabgrad.backends.numpy import NumpyBackend
from tabgrad.backends.selftest import Deviation, check_case
from tabgrad.bridge_kernels import Settings
from tabgrad.errors import BackendError
from tabgrad.ops import OPS, Const, Op
from tabgrad.ops.cases import case_call, op_cases
from tabgrad.train.weights import Borrow, DrawingEngine, borrow_nothing

SMALL_CASE_ELEMENTS = 5000
DEFAULT, BASE = Settings(), Settings("base")


@dataclass(frozen=True)
class Found:
    """A backend that can run: what does the work, in words, and how.

    `is_grouped` and `has_decode` say which plans it takes, see `build_plan`.
    """

    adapter: str
    is_software: bool = False
    threads: int = 1
    is_grouped: bool = False
    has_decode: bool = True


@dataclass(frozen=True)
class Opened:
    """A backend that is ready for a plan, and why it is this one."""

    backend: Backend
    name: str
    why: str
    borrow: Borrow  # an engine to draw its weights in


class Opener(Protocol):
    """Finds and opens one kind of backend."""

    async def probe(self) -> Found:
        """Return what is there.

        Raises:
            BackendError: the browser cannot; the message says why and what to do.
        """

    async def open(self, settings: Settings) -> Backend:
        """Return a fresh backend that works as the settings say."""


class NumpyOpener:
    """numpy is always there."""

    async def probe(self) -> Found:
        """Return numpy's version."""
        return Found(NumpyBackend().adapter)

    async def open(self, settings: Settings) -> Backend:
        """Return a fresh numpy backend."""
        return NumpyBackend()


def self_test_cases(op_name: str, *, every: bool) -> list[dict[str, Const]]:
    """Return the cases of an op to run: every one, or the largest of the small."""
    cases = op_cases(op_name)
    if every:
        return cases
    sizes = [_n_elements(OPS[op_name], case) for case in cases]
    small = [i for i, size in enumerate(sizes) if size <= SMALL_CASE_ELEMENTS]
    best = max(small or [sizes.index(min(sizes))], key=lambda i: sizes[i])
    return [cases[best]]


def _n_elements(op: Op, consts: Mapping[str, Const]) -> int:
    return sum(tensor.size for tensor in case_call(op, consts, False)[1].values())


def _all_cases(
    ops: Sequence[str], *, every: bool
) -> Iterator[tuple[Op, dict[str, Const], bool]]:
    for name in ops:
        op = OPS[name]
        for consts in self_test_cases(name, every=every):
            for adds in (False, True) if op.adds and every else (False,):
                yield op, consts, adds


async def run_cases(
    backend: Backend, ops: Sequence[str], *, every: bool
) -> list[Deviation]:
    """Run cases of ops on a backend and return every deviation."""
    found: list[Deviation] = []
    for op, consts, adds in _all_cases(ops, every=every):
        found += await check_case(backend, op, consts, adds)
    return found


class Backends:
    """The backends of this browser; one that fails its self-test is out."""

    def __init__(
        self, openers: Mapping[str, Opener], lend: Borrow = borrow_nothing
    ) -> None:
        """Take the openers, the best first, and the CPU engine; `probe` must follow."""
        self._openers = openers
        self._lend = lend
        self.found: dict[str, Found] = {}
        self.refused: dict[str, str] = {}
        self._tested: set[str] = set()

    async def probe(self) -> None:
        """Ask each opener what is there."""
        for name, opener in self._openers.items():
            try:
                self.found[name] = await opener.probe()
            except BackendError as error:
                self.refused[name] = str(error)

    def choose(self, wanted: str) -> tuple[str, str]:
        """Return a backend's name and why it is that one.

        Raises:
            BackendError: the one wanted is not there.
        """
        if wanted not in ("auto", *self._openers):
            known = ", ".join(["auto", *self._openers])
            raise BackendError(f"backend: got {wanted!r}, wanted {known}")
        if wanted != "auto":
            if wanted not in self.found:
                raise BackendError(
                    f"the backend {wanted} cannot be used: {self.refused[wanted]}"
                )
            return wanted, "chosen by hand"
        hardware = [n for n, f in self.found.items() if not f.is_software]
        name = hardware[0]
        return name, " ".join(self._why_not_better(name)) or "the fastest one here"

    def plan_kind(self, wanted: str) -> dict[str, bool]:
        """Return the arguments of `build_plan` for a backend, plain if not there."""
        found = self.found.get(self.choose(wanted)[0] if wanted == "auto" else wanted)
        if found is None:
            return {}
        return {"is_grouped": found.is_grouped, "has_decode": found.has_decode}

    def _why_not_better(self, chosen: str) -> Iterator[str]:
        for name in self._openers:
            if name == chosen:
                return
            if name in self.refused:
                yield f"{_LABELS[name]}: {self.refused[name]}."
            else:
                yield (
                    f"{_LABELS[name]} here is a software adapter "
                    f"({self.found[name].adapter}), slower than the CPU engine."
                )

    async def open(self, wanted: str, settings: Settings = DEFAULT) -> Opened:
        """Return a fresh backend, self-tested before its first use.

        `auto` goes on to the next one when the best fails its test; `why` says so.

        Raises:
            BackendError: it cannot start or fails its self-test; it is then out.
            ConfigError: there are no such kernels.
        """
        while True:
            name, why = self.choose(wanted)
            try:
                if name not in self._tested:
                    await self._self_test(name)
                backend = await self._openers[name].open(settings)
            except BackendError:
                if wanted != "auto" or name not in self.refused:
                    raise
            else:
                borrow = self.lend if name == "webgpu" else borrow_nothing
                return Opened(backend, name, why, borrow)

    async def _self_test(self, name: str) -> None:
        try:
            await self._hold_to_references(name)
        except BackendError as error:
            self.refused[name] = str(error)
            self.found.pop(name, None)
            raise BackendError(f"{_LABELS[name]}: {error}") from error
        self._tested.add(name)

    async def _hold_to_references(self, name: str) -> None:
        backend = await self._openers[name].open(BASE)
        try:
            for deviation in await run_cases(backend, list(OPS), every=False):
                if not deviation.passes:
                    raise BackendError(
                        f"its self-test failed and it is not used: {deviation}; "
                        "choose another backend"
                    )
        finally:
            backend.free()

    async def lend(self, n_bytes: int) -> DrawingEngine | None:
        """Return a CPU engine to draw weights in, unless there is none that works."""
        return None if "wasm" in self.refused else await self._lend(n_bytes)

    async def self_test(
        self, name: str, ops: Sequence[str], *, every: bool
    ) -> list[Deviation]:
        """Return the deviations of ops on a backend, for diagnostics and tests."""
        backend = await self._openers[self.choose(name)[0]].open(BASE)
        try:
            return await run_cases(backend, ops or list(OPS), every=every)
        finally:
            backend.free()

    def describe(self) -> dict[str, Any]:
        """Return the state of each backend, in words."""
        chosen, why = self.choose("auto")
        return {
            "names": [name for name in self._openers if name in self.found],
            "found": {
                name: {"adapter": f.adapter, "software": f.is_software}
                for name, f in self.found.items()
            },
            "refused": dict(self.refused),
            "threads": max(f.threads for f in self.found.values()),
            "auto": {"backend": chosen, "reason": why},
        }


_LABELS = {"webgpu": "WebGPU", "wasm": "WASM", "numpy": "numpy"}
