"""Answers the worker's calls: requests, answers and events are JSON."""

from __future__ import annotations

import asyncio
import json
import traceback
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from tabgrad.bridge_backends import Backends, Opener
from tabgrad.bridge_benchmark import BENCHMARK_KEYS, Benchmark
from tabgrad.bridge_kernels import SETTING_KEYS
from tabgrad.bridge_measure import Gpu, Measure
from tabgrad.bridge_requests import (
    BACKENDS,
    RUN_KEYS,
    Corpora,
    check_keys,
    field_faults,
    names_of,
    parse_run,
)
from tabgrad.bridge_runs import Runs
from tabgrad.errors import BusyError, TabgradError
from tabgrad.ops import OPS
from tabgrad.plan import Plan
from tabgrad.train.trainer import Breathe
from tabgrad.train.weights import Borrow, borrow_nothing

BUG_CODE = "TAB-BUG"
TRAIN_KEYS = (*RUN_KEYS, *SETTING_KEYS, "backend", "pause_after")

Request = dict[str, Any]


class Engine:
    """Answers the worker's calls; see `site/js/protocol.js` for each request."""

    def __init__(
        self,
        send: Callable[[str], None],
        openers: Mapping[str, Opener],
        browser_error: type[Exception],
        breathe: Breathe,
        gpu: Gpu,
        *,
        lend: Borrow = borrow_nothing,
    ) -> None:
        """Make an engine.

        Args:
            send: takes each event as JSON.
            openers: the backends by name, the best first.
            browser_error: what JavaScript's errors arrive as.
            breathe: lets messages of the page through.
            gpu: whose kernels are tuned and measured.
            lend: opens a CPU engine to draw weights in.
        """
        self._send = send
        self._browser_error = browser_error
        self._breathe = breathe
        self._gpu = gpu
        self._corpora = Corpora()
        self._backends = Backends(openers, lend)
        self._runs = Runs(self._corpora, self._backends, self._emit, breathe)
        self._measure = Measure(self._corpora, self._backends, gpu)
        self._is_measuring = False
        self._benchmark: Benchmark | None = None

    def _emit(self, event: Request) -> None:
        self._send(json.dumps(event, allow_nan=False))

    async def call(self, method: str, text: str) -> str:
        """Run one method on a JSON request; return `value` or `error` as JSON."""
        try:
            answer = {"value": await self._methods()[method](_without_nulls(text))}
            return json.dumps(answer, allow_nan=False)
        except Exception as error:  # noqa: BLE001 - nothing above could show it
            return json.dumps({"error": self._fault(error)})

    def _methods(self) -> dict[str, Callable[[Request], Awaitable[Any]]]:
        runs = self._runs
        return {
            "describe": self._describe,
            "add_corpus": self._add_corpus,
            "validate": self._validate,
            "plan": self._plan,
            "train": self._train,
            "pause": runs.pause,
            "resume": runs.resume,
            "stop": self._stop,
            "sample": runs.sample,
            "stop_sample": runs.stop_sample,
            "logits": runs.logits,
            "benchmark": self._run_benchmark,
            "self_test": self._self_test,
            "kernels": self._kernels,
            "measure": self._run_measure,
            "skip_tuning": self._skip_tuning,
            "forget_kernels": self._forget_kernels,
            "free": self._free,
        }

    async def _describe(self, request: Request) -> Request:
        """Probe the backends and return what is there."""
        await self._backends.probe()
        return self._backends.describe()

    async def _add_corpus(self, request: Request) -> Request:
        is_builtin = request.get("is_builtin")
        add = self._corpora.add_builtin if is_builtin else self._corpora.add
        corpus_id = add(request["name"], request["text"])
        corpus = self._corpora.get(corpus_id)
        return {"corpus_id": corpus_id, "n_bytes": corpus.n_bytes}

    async def _validate(self, request: Request) -> Request:
        faults, run = field_faults(request, self._corpora)
        if run is None:
            return {"faults": faults, "plan": None}
        plan = run.plan(**self._plan_kind(request))
        summary = _plan_facts(plan)
        summary["n_windows"] = run.split.n_train_windows
        summary["has_validation"] = run.split.n_val_windows > 0
        return {"faults": faults, "plan": summary}

    async def _plan(self, request: Request) -> Request:
        check_keys(request, (*RUN_KEYS, "backend"), "plan")
        run = parse_run(request, self._corpora)
        plan = run.plan(**self._plan_kind(request))
        tensors = [
            {
                "name": t.name,
                "shape": list(t.shape),
                "dtype": t.dtype,
                "role": t.role,
                "bytes": t.n_bytes,
            }
            for t in plan.tensors.values()
        ]
        return {**_plan_facts(plan), "tensors": tensors}

    def _plan_kind(self, request: Request) -> dict[str, bool]:
        return self._backends.plan_kind(str(request.get("backend", "auto")))

    async def _train(self, request: Request) -> Request:
        check_keys(request, TRAIN_KEYS, "train")
        self._refuse_during_benchmark()
        return await self._runs.train(request)

    async def _run_measure(self, request: Request) -> Request:
        self._runs.refuse_while_active("measure")
        self._refuse_during_benchmark()
        self._is_measuring = True
        try:
            return await self._measure.answer(request)
        finally:
            self._is_measuring = False

    async def _kernels(self, request: Request) -> Request:
        return await self._gpu.report()

    async def _skip_tuning(self, request: Request) -> None:
        self._gpu.cut_short()

    async def _forget_kernels(self, request: Request) -> None:
        await self._gpu.forget()

    async def _stop(self, request: Request) -> None:
        self._gpu.cut_short()
        if self._benchmark:
            self._benchmark.stop()
        await self._runs.stop_sample(request)
        await self._runs.stop(request)

    async def _run_benchmark(self, request: Request) -> list[Request]:
        check_keys(request, BENCHMARK_KEYS, "benchmark")
        self._runs.refuse_while_active("measure")
        self._refuse_during_benchmark()
        self._benchmark = Benchmark(self._backends, self._emit, self._breathe)
        try:
            run = parse_run(
                {k: v for k, v in request.items() if k in RUN_KEYS}, self._corpora
            )
            return await self._benchmark.measure(run, request)
        finally:
            self._benchmark = None

    def _refuse_during_benchmark(self) -> None:
        if self._benchmark:
            self._benchmark.refuse_second()
        if self._is_measuring:
            raise BusyError("the bench page measures; wait for its end")

    async def _self_test(self, request: Request) -> list[Request]:
        check_keys(request, ("backend", "ops", "all"), "selftest")
        self._runs.refuse_while_active("test")
        self._refuse_during_benchmark()
        deviations = await self._backends.self_test(
            str(request.get("backend", BACKENDS[0])),
            names_of(request, "ops", OPS, OPS),
            every=bool(request.get("all")),
        )
        return [
            {
                "op": d.op,
                "case": dict(d.consts),
                "adds": d.adds,
                "arg": d.arg,
                "passes": d.passes,
                "ratio": _finite(d.ratio),
                "worst_index": d.worst_index,
                "got": _finite(d.got),
                "wanted": _finite(d.wanted),
            }
            for d in deviations
        ]

    async def _free(self, request: Request) -> None:
        await self._stop(request)
        await asyncio.sleep(0)
        self._runs.free()

    def _fault(self, error: Exception) -> dict[str, str]:
        """Return code and message of an error, and what was kept, for the page."""
        fault = {"kept": " ".join(getattr(error, "__notes__", []))}
        if isinstance(error, TabgradError):
            return {**fault, "code": error.code, "message": str(error)}
        if isinstance(error, self._browser_error):
            message = f"the browser refused: {error}; reload the page or use numpy"
            return {**fault, "code": "TAB-BROWSER", "message": message}
        if isinstance(error, MemoryError):
            message = "Python is out of memory: choose a smaller preset or batch_size"
            return {**fault, "code": "TAB-MEMORY", "message": message}
        detail = "".join(traceback.format_exception(error))
        message = f"a fault in tabgrad: {error!r}; please report it with the details"
        return {**fault, "code": BUG_CODE, "message": message, "detail": detail}


def _without_nulls(text: str) -> Request:
    """Return a request; a key whose value is null counts as left out."""
    return {k: v for k, v in json.loads(text).items() if v is not None}


def _finite(value: float) -> float | None:
    """Return a number that JSON can hold; None for one that is not finite."""
    return value if abs(value) < float("inf") else None


def _plan_facts(plan: Plan) -> Request:
    largest = max(plan.tensors.values(), key=lambda t: t.n_bytes)
    return {
        "n_params": plan.n_params,
        "bytes": plan.n_bytes,
        "flops": plan.flops("train"),
        "dispatches": len(plan.programs["train"]),
        "largest_tensor": {"name": largest.name, "bytes": largest.n_bytes},
    }
