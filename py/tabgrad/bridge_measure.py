"""What the bench page asks: a device's peaks, rows of a product, a step's calls."""

from __future__ import annotations

import time
from collections.abc import Mapping
from statistics import median
from typing import Any, Protocol

from tabgrad.backends.base import no_progress
from tabgrad.backends.measure import (
    compare_rows,
    op_table,
    peaks,
    program_times,
    square_call,
)
from tabgrad.backends.tuner_bench import GpuBench
from tabgrad.backends.variants import fitting_variants
from tabgrad.backends.webgpu import WebgpuBackend
from tabgrad.bridge_backends import Backends
from tabgrad.bridge_kernels import Kernels, Tuning, parse_kernels
from tabgrad.bridge_requests import (
    RUN_KEYS,
    Corpora,
    check_keys,
    parse_run,
    run_config,
)
from tabgrad.bridge_runs import start_trainer
from tabgrad.errors import ConfigError
from tabgrad.train.peer import PeerTrainer
from tabgrad.train.trainer import Event, StepsDone, Trainer

MEASURE_KEYS = ("what", "op", "size", "kernels", "backend", "warm_up", *RUN_KEYS)
WARM_UP_STEPS = 5


class Gpu(Tuning, Protocol):
    """The device at hand."""

    async def bench(self) -> tuple[GpuBench, tuple[frozenset[str], int]]:
        """Return a bench, and the device's features and workgroup memory."""

    async def open(self, kernels: Kernels) -> WebgpuBackend:
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
        what = request.get("what")
        if what == "peaks":
            bench, _ = await self._gpu.bench()
            return dict(await peaks(bench, int(request.get("size") or 1)))
        if what == "matmul":
            return await self._matmul(str(request["op"]), int(request["size"]))
        if what == "ops":
            return await self._ops(request)
        if what == "peer":
            return await self._peer(request)
        raise ConfigError(f"measure: got {what!r}, wanted peaks, matmul, ops or peer")

    async def _matmul(self, op: str, size: int) -> dict[str, Any]:
        bench, device = await self._gpu.bench()
        call = square_call(op, size)
        rows = fitting_variants(op, call.consts, *device)
        return {"flops": call.flops, "rows": await compare_rows(bench, call, rows)}

    async def _ops(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return the calls of a training step, and the device's time of a whole one."""
        wanted = {k: v for k, v in request.items() if k in RUN_KEYS}
        run = parse_run(wanted, self._corpora)
        backend = await self._gpu.open(parse_kernels(request.get("kernels")))
        trainer = Trainer(run.config, run.split, backend, is_fused=run.is_fused)
        try:
            await start_trainer(trainer, no_progress)
            await trainer.train(1, lambda _: None)
            if trainer.plan is None:
                raise ConfigError("measure: the run has no plan")
            step = await program_times(backend, "train")
            rows = await op_table(backend, trainer.plan, "train")
        finally:
            backend.free()
        return {"step": step, "rows": rows}

    async def _peer(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return losses and times of a run in the setting that systems share.

        `steps` are taken one by one, each timed until its loss is here, and then as
        many again without a pause.
        """
        config = run_config(request)
        kernels = parse_kernels(request.get("kernels"))
        opened = await self._backends.open(str(request.get("backend")), kernels)
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
