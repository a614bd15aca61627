"""A run that can pause, step and stop, and that remembers its curves."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tabgrad.train.metrics import StepTimes
from tabgrad.train.trainer import Evaluated, Event, StepsDone, Trainer


@dataclass(frozen=True)
class Paused:
    """The run waits after `step` steps."""

    step: int


@dataclass(frozen=True)
class Resumed:
    """The run goes on after `step` steps."""

    step: int


SessionEvent = Event | Paused | Resumed


@dataclass
class Session:
    """Trains until the configured number of steps; pauses and stops between steps."""

    trainer: Trainer
    losses: list[float] = field(default_factory=list)
    grad_norms: list[float] = field(default_factory=list)
    val_steps: list[int] = field(default_factory=list)
    val_losses: list[float] = field(default_factory=list)
    times: StepTimes = field(default_factory=StepTimes)
    is_stopped: bool = False
    _left: int | None = None  # steps until the next pause; None: none is wanted
    _wake: asyncio.Event = field(default_factory=asyncio.Event)

    async def train(
        self, emit: Callable[[SessionEvent], None], pause_after: int | None = None
    ) -> None:
        """Run to the goal or until `stop`, waiting in between while paused.

        Args:
            emit: takes every event.
            pause_after: pause once this many steps are done.

        Raises:
            NonFiniteError: the run diverged; the curves hold the steps before.
        """
        if pause_after is not None and self._left is None:
            self._left = pause_after

        def note(event: Event) -> None:
            self._note(event)
            emit(event)

        goal = self.trainer.config.train.steps
        while self.trainer.step < goal and not self.is_stopped:
            if self._left == 0:
                await self._wait(emit)
                continue
            start = self.trainer.step
            count = goal - start if self._left is None else self._left
            await self.trainer.train(min(count, goal - start), note)
            if self._left is not None:  # `pause` may have set it meanwhile
                self._left = max(0, self._left - (self.trainer.step - start))

    async def _wait(self, emit: Callable[[SessionEvent], None]) -> None:
        self._wake.clear()
        emit(Paused(self.trainer.step))
        await self._wake.wait()
        if not self.is_stopped:
            emit(Resumed(self.trainer.step))

    def pause(self) -> None:
        """Wait after the steps that are under way."""
        self._left = 0
        self.trainer.request_stop()

    def resume(self, n_steps: int | None = None) -> None:
        """Go on, and pause again after `n_steps` if given."""
        self._left = n_steps
        self._wake.set()

    def stop(self) -> None:
        """End the run after the steps that are under way."""
        self.is_stopped = True
        self.trainer.request_stop()
        self._wake.set()

    def _note(self, event: Event) -> None:
        if isinstance(event, StepsDone):
            self.losses += event.losses
            self.grad_norms += event.grad_norms
            self.times.add(len(event.losses), event.seconds)
        elif isinstance(event, Evaluated):
            self.val_steps.append(event.step)
            self.val_losses.append(event.val_loss)

    def result(self) -> dict[str, Any]:
        """Return curves and times; `losses` has one entry a step, in order."""
        return {
            "losses": self.losses,
            "grad_norms": self.grad_norms,
            "val_losses": self.val_losses,
            "val_steps": self.val_steps,
            **self.times.summary(self.trainer.config.tokens_per_step),
            "n_params": self.trainer.config.model.n_params,
        }
