"""The benchmark: the same steps on each backend, the first step apart."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tabgrad.bridge_backends import Backends, Opened
from tabgrad.bridge_requests import RUN_KEYS, RunRequest
from tabgrad.errors import BackendError, BusyError, ConfigError, PlanError
from tabgrad.train.session import Session
from tabgrad.train.trainer import Trainer

BENCHMARK_KEYS = (*RUN_KEYS, "n_steps", "backends")
DEFAULT_STEPS = 20
MAX_STEPS = 10_000


def _ignore(event: object) -> None:
    """Take no event: only the times count."""


class Benchmark:
    """One measurement over backends; `stop` ends it between steps."""

    def __init__(
        self, backends: Backends, emit: Callable[[dict[str, Any]], None]
    ) -> None:
        """Make a measurement that reports each backend as it is done."""
        self._backends = backends
        self._emit = emit
        self._session: Session | None = None
        self._is_stopped = False

    def refuse_second(self) -> None:
        """Raise BusyError: this one is under way."""
        raise BusyError("a benchmark is under way; stop it or wait for its end")

    def stop(self) -> None:
        """End after the steps that are under way."""
        self._is_stopped = True
        if self._session:
            self._session.stop()

    async def measure(
        self, run: RunRequest, request: Mapping[str, Any]
    ) -> list[dict[str, Any]]:
        """Return a row for each backend, or why it has none.

        Raises:
            ConfigError: `n_steps` is not a whole number in range.
        """
        n_steps = request.get("n_steps") or DEFAULT_STEPS
        if not isinstance(n_steps, int) or not 1 <= n_steps <= MAX_STEPS:
            raise ConfigError(f"n_steps: got {n_steps!r}, wanted 1 to {MAX_STEPS}")
        config = run.config.replace(steps=1 + n_steps, eval_every=0)
        wanted = RunRequest(config, run.corpus_name, run.encoded, run.split)
        names = request.get("backends") or list(self._backends.found)
        rows = []
        for name in names:
            if self._is_stopped:
                break
            row = await self._row(name, wanted)
            self._emit({"type": "benchmarked", "row": row})
            rows.append(row)
        return rows

    async def _row(self, name: str, run: RunRequest) -> dict[str, Any]:
        try:
            opened = await self._backends.open(name)
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
        trainer = Trainer(run.config, run.split, opened.backend)
        limit = getattr(opened.backend, "max_storage_bytes", None)
        await (
            trainer.start() if limit is None else trainer.start(max_storage_bytes=limit)
        )
        self._session = Session(trainer)
        if self._is_stopped:
            self._session.stop()
        await self._session.train(_ignore)
        return {
            **self._session.times.summary(run.config.tokens_per_step),
            "n_steps": max(0, trainer.step - 1),
            "is_stopped": self._session.is_stopped,
        }
