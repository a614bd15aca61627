"""What the bench page asks: a device's peaks, rows of a product, a step's calls."""

from __future__ import annotations

from collections.abc import Mapping
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
from tabgrad.bridge_kernels import Kernels, Tuning, parse_kernels
from tabgrad.bridge_requests import RUN_KEYS, Corpora, check_keys, parse_run
from tabgrad.bridge_runs import start_trainer
from tabgrad.errors import ConfigError
from tabgrad.train.trainer import Trainer

MEASURE_KEYS = ("what", "op", "size", "kernels", *RUN_KEYS)


class Gpu(Tuning, Protocol):
    """The device at hand."""

    async def bench(self) -> tuple[GpuBench, tuple[frozenset[str], int]]:
        """Return a bench, and the device's features and workgroup memory."""

    async def open(self, kernels: Kernels) -> WebgpuBackend:
        """Return a fresh backend."""


class Measure:
    """Answers the bench page."""

    def __init__(self, corpora: Corpora, gpu: Gpu) -> None:
        """Measure on a device, over these texts."""
        self._corpora = corpora
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
        raise ConfigError(f"measure: got {what!r}, wanted peaks, matmul or ops")

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
