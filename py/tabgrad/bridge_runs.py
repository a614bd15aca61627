"""The run that the page looks at: train, pause, stop, sample, logits."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabgrad.backends.base import Progress, no_progress
from tabgrad.bridge_backends import Backends, Opened
from tabgrad.bridge_kernels import SETTING_KEYS, Settings, parse_settings
from tabgrad.bridge_requests import (
    RUN_KEYS,
    Corpora,
    RunRequest,
    check_keys,
    parse_run,
)
from tabgrad.errors import BusyError, ConfigError
from tabgrad.text.tokenizers import Tokenizer
from tabgrad.train.sampling import SamplingConfig, generate
from tabgrad.train.session import Paused, Resumed, Session, SessionEvent
from tabgrad.train.trainer import Breathe, Evaluated, StepsDone, Trainer

SAMPLE_KEYS = ("prompt", "max_tokens", "temperature", "top_k", "seed", "backend")
MAX_UTF8_BYTES = 4

Emit = Callable[[dict[str, Any]], None]


@dataclass
class Run:
    """A model in a backend's memory, with what made it."""

    request: RunRequest
    opened: Opened
    trainer: Trainer
    session: Session
    is_active: bool = False
    is_paused: bool = False


class Runs:
    """Holds at most one run, so that memory is freed before more is taken."""

    def __init__(
        self, corpora: Corpora, backends: Backends, emit: Emit, breathe: Breathe
    ) -> None:
        """Start with no run."""
        self._breathe = breathe
        self._corpora = corpora
        self._backends = backends
        self._emit = emit
        self._run: Run | None = None
        self._is_preparing = False
        self._stop_wanted = self._pause_wanted = False
        self._stop_sample = False
        self._sample_ended = asyncio.Event()
        self._sample_ended.set()

    def refuse_while_active(self, verb: str) -> None:
        """Raise BusyError while a run is prepared, trains or is paused."""
        if self._is_preparing or (self._run and self._run.is_active):
            raise BusyError(f"cannot {verb}: a run is under way; stop it first")

    async def train(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Train a new model to its end, or until `stop`; return curves and times.

        A sample of the model before ends with what is written of it.
        """
        self.refuse_while_active("start a run")
        wanted = {k: v for k, v in request.items() if k in RUN_KEYS}
        backend = str(request.get("backend", "auto"))
        settings = parse_settings(request)
        run = await self._prepare(wanted, backend, settings, ends_sample=True)
        run.is_active = True
        host_ms = _host_ms(run)
        try:
            if self._pause_wanted:
                run.session.pause()
            if not self._stop_wanted:
                await run.session.train(self._note, request.get("pause_after"))
        except Exception as error:
            n = len(run.session.losses)
            error.add_note(
                f"Kept: the losses of the {n} steps before. The model is gone."
            )
            self.free()
            raise
        finally:
            run.is_active = run.is_paused = False
        return {
            **run.session.result(),
            "host_ms_per_step": (_host_ms(run) - host_ms) / max(run.trainer.step, 1),
            "backend": run.opened.name,
            "adapter": run.opened.backend.adapter,
            "is_stopped": run.session.is_stopped or self._stop_wanted,
        }

    async def _prepare(
        self,
        wanted: Mapping[str, Any],
        backend: str,
        settings: Settings,
        *,
        ends_sample: bool = False,
    ) -> Run:
        """Return a new run, started; with `ends_sample` a sample ends before it."""
        request = parse_run(wanted, self._corpora)
        self._is_preparing = True
        self._stop_wanted = self._pause_wanted = False
        self._progress("backend", 0, 1)
        try:
            if ends_sample:
                self._stop_sample = True
                await self._sample_ended.wait()
            self.free()
            opened = await self._backends.open(backend, settings)
            trainer = self._trainer(request, opened)
            run = Run(request, opened, trainer, Session(trainer))
            try:
                await start_trainer(trainer, self._progress)
            except BaseException:
                opened.backend.free()
                raise
        finally:
            self._is_preparing = False
        self._run = run
        self._emit(_model_event(run))
        return run

    def _trainer(self, request: RunRequest, opened: Opened) -> Trainer:
        return Trainer(
            request.config,
            request.split,
            opened.backend,
            self._breathe,
            is_fused=request.is_fused,
            borrow=opened.borrow,
        )

    def _progress(self, what: str, done: int, total: int) -> None:
        self._emit({"type": "preparing", "what": what, "done": done, "total": total})

    def _note(self, event: SessionEvent) -> None:
        if self._run is None:
            return
        if isinstance(event, Paused | Resumed):
            self._run.is_paused = isinstance(event, Paused)
            kind = "paused" if self._run.is_paused else "resumed"
            self._emit({"type": kind, "step": event.step})
        elif isinstance(event, StepsDone):
            self._emit({"type": "steps", **vars(event)})
        elif isinstance(event, Evaluated):
            self._emit({"type": "evaluated", **vars(event)})

    async def pause(self, request: Mapping[str, Any]) -> None:
        """Pause after the steps that are under way, or before the first one."""
        self._pause_wanted = True
        if self._run and self._run.is_active:
            self._run.session.pause()

    async def resume(self, request: Mapping[str, Any]) -> None:
        """Go on: to the end, or for `n_steps`.

        Raises:
            BusyError: no run is paused.
        """
        if self._run is None or not self._run.is_paused:
            raise BusyError("cannot go on: no run is paused; start one with Train")
        self._run.is_paused = False
        self._run.session.resume(request.get("n_steps"))

    async def stop(self, request: Mapping[str, Any]) -> None:
        """End the run after the steps that are under way."""
        self._stop_wanted = True
        if self._run and self._run.is_active:
            self._run.session.stop()

    async def stop_sample(self, request: Mapping[str, Any]) -> None:
        """End the sampling that is under way."""
        self._stop_sample = True

    async def sample(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Continue a prompt with the model; without one, with an untrained one."""
        check_keys(request, (*SAMPLE_KEYS, *RUN_KEYS, *SETTING_KEYS), "sample")
        if not self._sample_ended.is_set():
            raise BusyError("cannot sample: a sample is being written; stop it first")
        config = _sampling(request)
        self._sample_ended.clear()
        self._stop_sample = False
        try:
            run = await self._model(request)
            trainer, borrowed = await self._on_backend(run, request.get("backend"))
            try:
                return await self._write(run, trainer, str(request["prompt"]), config)
            finally:
                if borrowed:
                    trainer.backend.free()
        finally:
            self._sample_ended.set()

    async def _write(
        self, run: Run, trainer: Trainer, prompt: str, config: SamplingConfig
    ) -> dict[str, Any]:
        tokenizer = run.request.encoded.tokenizer
        ids, unknown = self._prompt_ids(run, prompt)
        written: list[int] = []
        stream = _TextStream(tokenizer)
        clock = asyncio.get_running_loop().time
        start = clock()
        async for token in generate(trainer, ids, config):
            written.append(token)
            text = stream.push(token)
            if text:
                self._emit({"type": "tokens", "text": text})
            await self._breathe()  # lets Stop and training through
            if self._stop_sample:
                break
        seconds = max(clock() - start, 1e-9)
        return {
            "text": tokenizer.decode(written),
            "tokens_per_s": len(written) / seconds,
            "n_tokens": len(written),
            "unknown": unknown,
            "top_k": min(config.top_k, tokenizer.vocab_size),
            "is_stopped": self._stop_sample,
            "trained_steps": run.trainer.step,
        }

    async def logits(self, request: Mapping[str, Any]) -> list[float]:
        """Return the logits of the token after a text."""
        check_keys(request, ("text", *RUN_KEYS, *SETTING_KEYS, "backend"), "logits")
        run = await self._model(request)
        ids, _ = self._prompt_ids(run, str(request.get("text", "")))
        return [float(x) for x in await run.trainer.logits(ids)]

    async def _model(self, request: Mapping[str, Any]) -> Run:
        """Return the run at hand, or make an untrained one as the request says."""
        if self._is_preparing:
            raise BusyError("the model is being prepared; try again in a moment")
        if self._run:
            return self._run
        wanted = {k: v for k, v in request.items() if k in RUN_KEYS and k != "seed"}
        backend = str(request.get("backend", "auto"))
        return await self._prepare(wanted, backend, parse_settings(request))

    async def _on_backend(self, run: Run, wanted: object) -> tuple[Trainer, bool]:
        """Return a trainer with the run's weights on a backend; True: free it after."""
        name = run.opened.name
        if wanted in (None, "auto", name):
            return run.trainer, False
        if run.is_active and not run.is_paused:
            raise BusyError(
                f"the run trains on {name}; pause or stop it to sample on {wanted}"
            )
        opened = await self._backends.open(str(wanted))
        copy = self._trainer(run.request, opened)
        try:
            await start_trainer(copy, no_progress)
            await copy.copy_weights(run.trainer)
        except BaseException:
            opened.backend.free()
            raise
        return copy, True

    def _prompt_ids(self, run: Run, prompt: str) -> tuple[NDArray[np.uint32], str]:
        """Return at least one token, and the characters that have none."""
        encoded = run.request.encoded
        ids, unknown = encoded.tokenizer.encode(prompt)
        if len(ids) == 0:
            ids = encoded.tokenizer.encode("\n")[0]
        return (ids if len(ids) else encoded.tokens[:1]), unknown

    def free(self) -> None:
        """Give back the model's memory."""
        if self._run:
            self._run.opened.backend.free()
            self._run = None


class _TextStream:
    """Turns tokens into text as they come, and never cuts a UTF-8 sequence."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._pending: list[int] = []

    def push(self, token: int) -> str:
        """Return the text that is whole now."""
        self._pending.append(token)
        text = self._tokenizer.decode(self._pending)
        if text.endswith("\ufffd") and len(self._pending) < MAX_UTF8_BYTES:
            return ""
        self._pending = []
        return text


async def start_trainer(trainer: Trainer, progress: Progress) -> None:
    """Start a trainer within what its backend's device binds."""
    limit = getattr(trainer.backend, "max_storage_bytes", None)
    if limit is None:
        await trainer.start(progress)
    else:
        await trainer.start(progress, limit)


def _host_ms(run: Run) -> float:
    """Return the milliseconds that a GPU's steps took to encode; 0 elsewhere."""
    return float(getattr(run.opened.backend, "host_ms", 0.0))


def _sampling(request: Mapping[str, Any]) -> SamplingConfig:
    keys = ("max_tokens", "temperature", "top_k", "seed")
    given = {k: request[k] for k in keys if k in request}
    for name, value in given.items():
        whole = name != "temperature"
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ConfigError(f"{name}: got {value!r}, wanted a number")
        if whole and not isinstance(value, int):
            raise ConfigError(f"{name}: got {value}, wanted a whole number")
    return SamplingConfig(**given)


def _model_event(run: Run) -> dict[str, Any]:
    plan = run.trainer.plan
    return {
        "type": "model",
        "backend": run.opened.name,
        "adapter": run.opened.backend.adapter,
        "why": run.opened.why,
        "config": run.request.config.to_dict(),
        "corpus": run.request.corpus_name,
        "n_params": run.request.config.model.n_params,
        "bytes": plan.n_bytes if plan else 0,
        "has_validation": run.request.split.n_val_windows > 0,
    }
