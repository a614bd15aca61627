"""One loop for every backend: chunks of steps, evaluation, early stop."""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tabgrad.backends.base import Backend, Progress, no_progress
from tabgrad.config import CHUNK_STEPS, RunConfig
from tabgrad.errors import NonFiniteError
from tabgrad.plan import NO_LIMIT, Plan, build_plan
from tabgrad.tensors import Array
from tabgrad.text.batches import eval_offsets, train_offsets
from tabgrad.text.split import SplitText
from tabgrad.train.schedule import learning_rate, step_scalars
from tabgrad.train.weights import Borrow, borrow_nothing, draw_weights

CHUNK_S = 0.06  # a chunk lasts about this long, so that Pause is felt at once
DECODED_SHARE = 12  # T / 12 rows cost a window or less, see docs/lab/cpu-decode.md
_NOTHING = np.zeros(0, np.uint32)


@dataclass(frozen=True)
class StepsDone:
    """Results of consecutive steps; `step` counts from 1 and is the last one's."""

    step: int
    losses: list[float]
    grad_norms: list[float]
    lr: float
    seconds: float


@dataclass(frozen=True)
class Evaluated:
    """Mean held-out loss after `step` steps."""

    step: int
    val_loss: float


Event = StepsDone | Evaluated
Breathe = Callable[[], Awaitable[None]]


async def yield_once() -> None:
    """Let the other tasks of the event loop run once."""
    await asyncio.sleep(0)


class Trainer:
    """A run: config, text and backend; `step` counts the finished steps."""

    def __init__(
        self,
        config: RunConfig,
        text: SplitText,
        backend: Backend,
        breathe: Breathe = yield_once,
        *,
        is_fused: bool = True,
        borrow: Borrow = borrow_nothing,
    ) -> None:
        """Make a run; nothing is allocated until `start`.

        Args:
            config: the hyperparameters.
            text: tokens, split.
            backend: runs the plan.
            breathe: awaited once a chunk, so that whatever may pause or stop the run
                gets through.
            is_fused: run the fused plan rather than the plain one.
            borrow: opens an engine to draw weights in, see `draw_weights`.
        """
        self.is_fused = is_fused
        self._borrow = borrow
        self._breathe = breathe
        self.config = config
        self.text = text
        self.backend = backend
        self.step = 0
        self.plan: Plan | None = None
        self._stop_requested = False
        self._step_s = CHUNK_S
        self._cached = _NOTHING  # ids whose keys and values the caches hold

    async def start(
        self, progress: Progress = no_progress, max_storage_bytes: int = NO_LIMIT
    ) -> None:
        """Plan, allocate, and write corpus and initial weights.

        Raises:
            PlanError: a tensor does not fit the device.
            BackendError: the backend cannot start.
        """
        self.plan = build_plan(
            self.config,
            len(self.text.tokens),
            max_storage_bytes,
            is_fused=self.is_fused,
            is_grouped=self.backend.is_grouped,
            has_decode=self.backend.has_decode,
        )
        self._cached = _NOTHING
        await self.backend.prepare(self.plan, progress)
        await self.backend.write("io.corpus", self.text.tokens)
        await self._draw_weights(self.plan, progress)

    async def _draw_weights(self, plan: Plan, progress: Progress) -> None:
        """Give all weights their initial values."""
        seed = self.config.train.seed
        await draw_weights(self.backend, plan, seed, progress, self._borrow)

    async def copy_weights(self, source: Trainer) -> None:
        """Take the weights of a trainer of the same model; both have started."""
        self._cached = _NOTHING
        for param in source.plan.params if source.plan else ():
            weights = await source.backend.read(param.name)
            await self.backend.write(param.name, weights)

    async def _run(
        self,
        program: str,
        n_steps: int,
        writes: Mapping[str, Array],
        reads: Sequence[str],
        cached: NDArray[np.uint32] = _NOTHING,
    ) -> dict[str, Array]:
        """Run a program of the backend, and note what is in the caches after it.

        It is noted at once, not when the program is done: runs take effect in the
        order in which they are called, and the next may be called before that.
        """
        self._cached = cached
        try:
            return await self.backend.run(program, n_steps, writes, reads)
        except BaseException:
            self._cached = _NOTHING
            raise

    def set_learning_rate(self, lr: float) -> None:
        """Change the peak learning rate of the steps to come.

        Raises:
            ConfigError: the rate is out of range.
        """
        self.config = self.config.replace(lr=lr)

    def request_stop(self) -> None:
        """Make `train` return after the steps that are under way."""
        self._stop_requested = True

    async def train(self, n_steps: int, emit: Callable[[Event], None]) -> None:
        """Run `n_steps` more steps, or fewer after `request_stop`.

        Raises:
            NonFiniteError: a loss or gradient norm is not finite; the steps before
                it have been emitted, `step` is the last good one and the weights
                are those after it, so that a lower rate can go on from there.
        """
        self._stop_requested = False
        await self.backend.write("norm.scale", np.ones(1, np.float32))  # not halted
        goal, launched = self.step + n_steps, self.step
        flying: deque[tuple[int, int, asyncio.Task[dict[str, Array]]]] = deque()
        clock = time.perf_counter()
        try:
            while self.step < goal:
                while len(flying) < self.backend.max_in_flight and launched < goal:
                    if self._stop_requested or self._eval_due(launched):
                        break
                    count = self._chunk(launched, goal)
                    task = asyncio.ensure_future(self._launch(launched, count))
                    flying.append((launched, count, task))
                    launched += count
                    await self._breathe()  # lets the launch and messages through
                if not flying:
                    break
                first, count, task = flying.popleft()
                rings = await task
                took, clock = time.perf_counter() - clock, time.perf_counter()
                self._step_s = took / count
                self._finish(first, count, rings, took, emit)
                if not flying and self._eval_due(self.step):
                    await self._evaluate_and_emit(emit)
                    clock = time.perf_counter()
        finally:
            for _, _, task in flying:
                await asyncio.gather(task, return_exceptions=True)

    def _eval_due(self, step: int) -> bool:
        every = self.config.train.eval_every
        due = every > 0 and step > 0 and step % every == 0
        return due and self.text.n_val_windows > 0 and self._evaluated_at != step

    _evaluated_at = 0

    async def _evaluate_and_emit(self, emit: Callable[[Event], None]) -> None:
        self._evaluated_at = self.step
        loss = await self.evaluate()
        if loss is not None:
            emit(Evaluated(self.step, loss))

    def _chunk(self, first: int, goal: int) -> int:
        wanted = int(CHUNK_S / max(self._step_s, 1e-6))
        if self.step == 0 and first == 0:
            wanted = 1  # the first step is timed apart: it compiles and warms up
        every = self.config.train.eval_every
        to_eval = every - first % every if every else CHUNK_STEPS
        return max(1, min(wanted, CHUNK_STEPS, to_eval, goal - first))

    async def _launch(self, first: int, count: int) -> dict[str, Array]:
        train = self.config.train
        scalars = np.zeros((CHUNK_STEPS, 4), np.float32)
        offsets = np.zeros((CHUNK_STEPS, train.batch_size), np.uint32)
        steps = range(first, first + count)
        scalars[:count] = step_scalars(train, steps)
        offsets[:count] = self._offsets(steps)
        writes: dict[str, Array] = {"io.scalars": scalars, "io.offsets": offsets}
        writes["io.index"] = np.zeros(1, np.uint32)
        reads = ("io.loss", "io.grad_norm")
        return await self._run("train", count, writes, reads)

    def _offsets(self, steps: range) -> NDArray[np.uint32]:
        """Return where the windows of steps begin."""
        train = self.config.train
        return train_offsets(self.text, train.seed, steps, train.batch_size)

    def _finish(
        self,
        first: int,
        count: int,
        rings: dict[str, Array],
        seconds: float,
        emit: Callable[[Event], None],
    ) -> None:
        losses = [float(x) for x in rings["io.loss"][:count]]
        norms = [float(x) for x in rings["io.grad_norm"][:count]]
        pairs = zip(losses, norms, strict=True)
        finite = [math.isfinite(a) and math.isfinite(b) for a, b in pairs]
        good = finite.index(False) if False in finite else count
        self.step = first + good
        if good:
            lr = learning_rate(self.config.train, first + good - 1)
            emit(StepsDone(self.step, losses[:good], norms[:good], lr, seconds))
        if good < count:
            raise NonFiniteError(
                f"the run diverged at step {self.step + 1}: loss {losses[good]}, "
                f"gradient norm {norms[good]}; lower the learning rate "
                f"({self.config.train.lr:g}) or set grad_clip to 1"
            )

    async def evaluate(self) -> float | None:
        """Return the mean held-out loss, or None where nothing is held out."""
        if self.text.n_val_windows == 0:
            return None
        train = self.config.train
        rows = eval_offsets(self.text, train.eval_batches, train.batch_size)
        total = 0.0
        for start in range(0, len(rows), CHUNK_STEPS):
            part = rows[start : start + CHUNK_STEPS]
            offsets = np.zeros((CHUNK_STEPS, train.batch_size), np.uint32)
            offsets[: len(part)] = part
            writes = {"io.offsets": offsets, "io.index": np.zeros(1, np.uint32)}
            rings = await self._run("eval", len(part), writes, ("io.loss",))
            total += float(rings["io.loss"][: len(part)].astype(np.float64).sum())
        return total / len(rows)

    async def logits(self, ids: NDArray[np.uint32]) -> NDArray[np.float32]:
        """Return the (V,) logits of the token after `ids`, of which the end counts.

        Rows that the caches do not hold are decoded one by one; where they are many,
        the whole window is run. Past block_size that is every time: positions are
        learned, so that all keys and values change when the window moves.

        Args:
            ids: (n,) with n >= 1; the last block_size are the context.
        """
        time_steps = self.config.model.block_size
        context = ids[-time_steps:].copy()
        prompt = np.zeros(time_steps, np.uint32)
        prompt[: len(context)] = context  # causal: what follows has no effect
        writes = {"io.prompt": prompt}
        first = min(_n_common(context, self._cached), len(context) - 1)
        n_rows = len(context) - first
        last: NDArray[np.float32]
        if self.backend.has_decode and n_rows <= max(1, time_steps // DECODED_SHARE):
            writes["io.index"] = np.array([first], np.uint32)
            rows = await self._run("decode", n_rows, writes, ("io.next",), context)
            last = rows["io.next"][0]
        else:
            rows = await self._run("logits", 1, writes, ("io.logits",), context)
            last = rows["io.logits"][len(context) - 1]
        return last


def _n_common(a: NDArray[np.uint32], b: NDArray[np.uint32]) -> int:
    """Return how many elements at the start of both are equal."""
    n = min(len(a), len(b))
    differing = np.flatnonzero(a[:n] != b[:n])
    return int(differing[0]) if len(differing) else n
