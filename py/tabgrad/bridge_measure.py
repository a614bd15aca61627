"""What the bench page asks: peaks, products and the calls of a step, on GPU and CPU."""

from __future__ import annotations

import time
from collections.abc import Mapping
from statistics import median
from typing import Any, Protocol

from tabgrad.backends.base import Backend, no_progress
from tabgrad.backends.lab import EXPERIMENTS
from tabgrad.backends.lab_bench import LabBench, StepClock, compare_steps
from tabgrad.backends.measure import (
    compare_rows,
    in_place_times,
    op_table,
    peaks,
    program_times,
    square_call,
)
from tabgrad.backends.tuner_bench import GpuBench
from tabgrad.backends.variants import fitting_variants
from tabgrad.backends.wasm import WasmBackend
from tabgrad.backends.wasm_measure import (
    call_times,
    draw_times,
    product_times,
    tile_times,
)
from tabgrad.backends.webgpu import WebgpuBackend
from tabgrad.bridge_backends import Backends
from tabgrad.bridge_kernels import (
    SETTING_KEYS,
    Settings,
    Tuning,
    parse_settings,
)
from tabgrad.bridge_requests import (
    RUN_KEYS,
    Corpora,
    check_keys,
    parse_run,
    run_config,
)
from tabgrad.bridge_runs import start_trainer
from tabgrad.errors import ConfigError
from tabgrad.plan import Plan
from tabgrad.train.peer import PeerTrainer
from tabgrad.train.trainer import Event, StepsDone, Trainer

MEASURE_KEYS = ("what", "op", "size", "backend", "warm_up", *SETTING_KEYS, *RUN_KEYS)
WARM_UP_STEPS = 5
STEPS = "steps"  # the experiment that the host's clock times


class Gpu(Tuning, Protocol):
    """The device at hand."""

    async def bench(self) -> tuple[GpuBench, tuple[frozenset[str], int]]:
        """Return a bench, and the device's features and workgroup memory."""

    async def lab(self) -> tuple[LabBench, StepClock]:
        """Return a bench of experiments, and what times steps by the host's clock."""

    async def open(self, settings: Settings) -> WebgpuBackend:
        """Return a fresh backend."""


class Measure:
    """Answers the bench page."""

    def __init__(self, corpora: Corpora, backends: Backends, gpu: Gpu) -> None:
        """Measure on backends and a device, over these texts."""
        self._corpora = corpora
        self._backends = backends
        self._gpu = gpu

    async def answer(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return what `what` asks for.

        Raises:
            ConfigError: `what` is not known.
            BackendError: there is no device, or it failed.
        """
        check_keys(request, MEASURE_KEYS, "measure")
        methods = {
            "peaks": self._peaks,
            "matmul": self._matmul,
            "ops": self._ops,
            "rows": self._rows,
            "lab": self._lab,
            "peer": self._peer,
            "cpu_matmul": self._cpu,
            "cpu_tiles": self._cpu,
            "cpu_ops": self._cpu,
            "cpu_draw": self._cpu,
        }
        what = request.get("what")
        if what not in methods:
            known = ", ".join(methods)
            raise ConfigError(f"measure: got {what!r}, wanted one of {known}")
        return await methods[what](request)

    async def _peaks(self, request: Mapping[str, Any]) -> dict[str, Any]:
        bench, _ = await self._gpu.bench()
        return dict(await peaks(bench, int(request.get("size") or 1)))

    async def _matmul(self, request: Mapping[str, Any]) -> dict[str, Any]:
        op, size = str(request["op"]), int(request["size"])
        bench, device = await self._gpu.bench()
        call = square_call(op, size)
        rows = fitting_variants(op, call.consts, *device)
        return {"flops": call.flops, "rows": await compare_rows(bench, call, rows)}

    async def _rows(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return, for each op of a step, the rows but the base that train it."""
        _, device = await self._gpu.bench()
        wanted = {k: v for k, v in request.items() if k in RUN_KEYS}
        rows: dict[str, list[str]] = {}
        plan = parse_run(wanted, self._corpora).plan(
            is_grouped=WebgpuBackend.is_grouped
        )
        for call in plan.programs["train"]:
            names = rows.setdefault(call.op.name, [])
            fitting = fitting_variants(call.op.name, call.consts, *device)
            exact = [row.name for row in fitting[1:] if not row.tol]
            names += [name for name in exact if name not in names]
        return {"rows": rows}

    async def _lab(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return the names of the experiments, or how the ways of `op` did.

        With a `size` over 1 the work is small, for a software adapter.
        """
        name = request.get("op")
        if name is None:
            return {"names": [*EXPERIMENTS, STEPS]}
        bench, clock = await self._gpu.lab()
        if name == STEPS:
            return {"rows": await compare_steps(clock)}
        if name not in EXPERIMENTS:
            known = ", ".join((*EXPERIMENTS, STEPS))
            raise ConfigError(f"measure: op got {name!r}, wanted {known}")
        is_small = int(request.get("size") or 1) > 1
        return {"rows": await bench.compare(EXPERIMENTS[name](is_small))}

    async def _ops(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return the calls of a training step, and the device's time of a whole one."""
        backend = await self._gpu.open(parse_settings(request))
        try:
            plan = await self._step(backend, request)
            in_place = await in_place_times(backend, "train")
            step = await program_times(backend, "train")
            rows = await op_table(backend, plan, "train", in_place)
        finally:
            backend.free()
        return {"step": step, "rows": rows}

    async def _step(self, backend: Backend, request: Mapping[str, Any]) -> Plan:
        """Take the first step of a run; return its plan."""
        wanted = {k: v for k, v in request.items() if k in RUN_KEYS}
        run = parse_run(wanted, self._corpora)
        lend = self._backends.lend
        trainer = Trainer(
            run.config, run.split, backend, is_fused=run.is_fused, borrow=lend
        )
        await start_trainer(trainer, no_progress)
        await trainer.train(1, lambda _: None)
        if trainer.plan is None:
            raise ConfigError("measure: the run has no plan")
        return trainer.plan

    async def _cpu(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return times of the CPU engine, beside the peak of one thread."""
        opened = await self._backends.open("wasm", parse_settings(request))
        backend = opened.backend
        if not isinstance(backend, WasmBackend):
            raise ConfigError("measure: the CPU engine is not there")
        try:
            what = request["what"]
            if what == "cpu_draw":
                found = await draw_times(backend, int(request["size"]))
            elif what == "cpu_ops":
                found = call_times(backend, await self._step(backend, request))
            else:
                times = tile_times if what == "cpu_tiles" else product_times
                call = square_call(str(request["op"]), int(request["size"]))
                found = await times(backend, call)
            return {**found, **backend.facts()}
        finally:
            backend.free()

    async def _peer(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return losses and times of a run in the setting that systems share.

        `steps` are taken one by one, each timed until its loss is here, and then as
        many again without a pause.
        """
        config = run_config(request)
        settings = parse_settings(request)
        opened = await self._backends.open(str(request.get("backend")), settings)
        trainer = PeerTrainer(config, opened.backend)
        losses: list[float] = []

        async def timed_ms(n_steps: int) -> float:
            start = time.perf_counter()
            await trainer.train(n_steps, lambda event: losses.extend(_losses(event)))
            return (time.perf_counter() - start) * 1000

        try:
            await start_trainer(trainer, no_progress)
            n_steps = config.train.steps
            first = await timed_ms(1)
            await timed_ms(int(request.get("warm_up") or WARM_UP_STEPS) - 1)
            ms = [await timed_ms(1) for _ in range(n_steps)]
            pipelined = await timed_ms(n_steps) / n_steps
        finally:
            opened.backend.free()
        spread = {"median": median(ms), "min": min(ms), "max": max(ms), "n": len(ms)}
        return {
            "backend": opened.name,
            "adapter": opened.backend.adapter,
            "params": config.model.n_params,
            "ms_per_step": spread,
            "ms_per_step_pipelined": pipelined,
            "first_step_ms": first,
            "tokens_per_s": 1000 * config.tokens_per_step / spread["median"],
            "losses": losses[:-n_steps],
        }


def _losses(event: Event) -> list[float]:
    return event.losses if isinstance(event, StepsDone) else []
