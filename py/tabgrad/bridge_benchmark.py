"""The benchmark: the same steps on each backend, the first step apart."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from tabgrad.backends.base import no_progress
from tabgrad.bridge_backends import Backends, Opened
from tabgrad.bridge_kernels import SETTING_KEYS, Settings, parse_settings
from tabgrad.bridge_requests import BACKENDS, RUN_KEYS, RunRequest, names_of
from tabgrad.bridge_runs import start_trainer
from tabgrad.errors import BackendError, BusyError, ConfigError, PlanError
from tabgrad.train.metrics import StepTimes
from tabgrad.train.trainer import Breathe, Event, StepsDone, Trainer

BENCHMARK_KEYS = (*RUN_KEYS, "n_steps", "backends", *SETTING_KEYS)
DEFAULT_STEPS = 20
MAX_STEPS = 10_000
GROUPS = 10  # timed apart, for the spread; within one, steps follow without a pause


class Benchmark:
    """One measurement over backends; `stop` ends it between steps."""

    def __init__(
        self,
        backends: Backends,
        emit: Callable[[dict[str, Any]], None],
        breathe: Breathe,
    ) -> None:
        """Make a measurement that reports each backend as it is done."""
        self._backends = backends
        self._emit = emit
        self._breathe = breathe
        self._trainer: Trainer | None = None
        self._is_stopped = False

    def refuse_second(self) -> None:
        """Raise BusyError: this one is under way."""
        raise BusyError("a benchmark is under way; stop it or wait for its end")

    def stop(self) -> None:
        """End after the steps that are under way."""
        self._is_stopped = True
        if self._trainer:
            self._trainer.request_stop()

    async def measure(
        self, run: RunRequest, request: Mapping[str, Any]
    ) -> list[dict[str, Any]]:
        """Return a row for each backend, or why it has none.

        Raises:
            ConfigError: `n_steps` is not a whole number in range, or `backends` or
                `kernels` no choice of them.
        """
        n_steps = request.get("n_steps", DEFAULT_STEPS)
        if not isinstance(n_steps, int) or not 1 <= n_steps <= MAX_STEPS:
            raise ConfigError(f"n_steps: got {n_steps!r}, wanted 1 to {MAX_STEPS}")
        config = run.config.replace(steps=1 + n_steps, eval_every=0)
        wanted = replace(run, config=config)
        settings = parse_settings(request)
        names = names_of(request, "backends", BACKENDS, self._backends.found)
        rows = []
        for name in names:
            if self._is_stopped:
                break
            row = await self._row(name, wanted, settings)
            self._emit({"type": "benchmarked", "row": row})
            rows.append(row)
        return rows

    async def _row(
        self, name: str, run: RunRequest, settings: Settings
    ) -> dict[str, Any]:
        try:
            opened = await self._backends.open(name, settings)
        except BackendError as error:
            return {"backend": name, "error": str(error)}
        found = self._backends.found[opened.name]
        row = {
            "backend": opened.name,
            "adapter": opened.backend.adapter,
            "software": found.is_software,
        }
        try:
            return {**row, **await self._time(opened, run)}
        except (BackendError, PlanError) as error:
            return {**row, "error": str(error)}
        finally:
            opened.backend.free()

    async def _time(self, opened: Opened, run: RunRequest) -> dict[str, Any]:
        trainer = self._trainer = Trainer(
            run.config,
            run.split,
            opened.backend,
            self._breathe,
            is_fused=run.is_fused,
            borrow=opened.borrow,
        )
        await start_trainer(trainer, no_progress)
        times = StepTimes()

        def note(event: Event) -> None:
            if isinstance(event, StepsDone):
                times.add(len(event.losses), event.seconds)

        goal = run.config.train.steps
        group = max(1, (goal - 1) // GROUPS)
        while trainer.step < goal and not self._is_stopped:
            count = 1 if trainer.step == 0 else min(group, goal - trainer.step)
            await trainer.train(count, note)
            await self._breathe()  # lets a stop through
        return {
            "adapter": opened.backend.adapter,  # some know it only once prepared
            **times.summary(run.config.tokens_per_step),
            "n_steps": max(0, trainer.step - 1),
            "is_stopped": self._is_stopped,
        }
