"""The hyperparameters of a run, checked once, frozen, with GPT-2's names."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from typing import Any, Literal, get_args

from tabgrad.errors import ConfigError

Schedule = Literal["constant", "cosine", "linear"]

LAYERNORM_EPS = 1e-5
CLIP_EPS = 1e-6  # scale = grad_clip / (norm + CLIP_EPS)
INIT_STD = 0.02
CHUNK_STEPS = 64  # most steps that one call of a backend runs


def _whole(name: str, value: object, low: int, high: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ConfigError(f"{name}: got {value!r}, wanted a whole number")
    if not low <= value <= high:
        raise ConfigError(f"{name}: got {value}, wanted {low} to {high}")


def _number(name: str, value: object, low: float, high: float) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ConfigError(f"{name}: got {value!r}, wanted a number")
    if not (math.isfinite(value) and low <= value <= high):
        raise ConfigError(f"{name}: got {value}, wanted {low} to {high}")


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """The shape of the transformer: GPT-2, pre-LN, tied head, erf GELU, biases."""

    n_layer: int = 3
    n_head: int = 3
    n_embd: int = 96
    block_size: int = 64
    vocab_size: int = 256

    def __post_init__(self) -> None:
        """Raise ConfigError for a shape that cannot be built."""
        _whole("n_layer", self.n_layer, 1, 96)
        _whole("n_head", self.n_head, 1, 256)
        _whole("n_embd", self.n_embd, 1, 16384)
        _whole("block_size", self.block_size, 1, 8192)
        _whole("vocab_size", self.vocab_size, 1, 1 << 20)
        if self.n_embd % self.n_head:
            low = self.n_embd - self.n_embd % self.n_head
            near = [n for n in (low, low + self.n_head) if n > 0]
            advice = " or ".join(str(n) for n in near)
            raise ConfigError(
                f"n_embd {self.n_embd} is not a multiple of n_head {self.n_head}; "
                f"try n_embd {advice}"
            )

    @property
    def n_params(self) -> int:
        """Exact count: V C + T C + 2 C + L (12 C^2 + 13 C)."""
        c = self.n_embd
        return (self.vocab_size + self.block_size + 2) * c + self.n_layer * (
            12 * c * c + 13 * c
        )


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """Batch, optimiser (AdamW with decoupled decay), schedule and evaluation."""

    batch_size: int = 16
    steps: int = 1500
    lr: float = 3e-4
    beta1: float = 0.9
    beta2: float = 0.95
    eps: float = 1e-8
    weight_decay: float = 0.1
    grad_clip: float = 1.0  # 0 turns clipping off
    schedule: Schedule = "constant"
    warmup_steps: int = 0
    min_lr: float = 0.0
    seed: int = 1337
    eval_every: int = 100  # 0 turns evaluation off
    eval_batches: int = 8

    def __post_init__(self) -> None:
        """Raise ConfigError for a value outside its range."""
        _whole("batch_size", self.batch_size, 1, 4096)
        _whole("steps", self.steps, 1, 10_000_000)
        _number("lr", self.lr, 0.0, 100.0)
        _number("beta1", self.beta1, 0.0, 0.9999999)
        _number("beta2", self.beta2, 0.0, 0.9999999)
        _number("eps", self.eps, 1e-30, 1.0)
        _number("weight_decay", self.weight_decay, 0.0, 100.0)
        _number("grad_clip", self.grad_clip, 0.0, 1e9)
        if self.schedule not in get_args(Schedule):
            wanted = ", ".join(get_args(Schedule))
            raise ConfigError(f"schedule: got {self.schedule!r}, wanted {wanted}")
        _whole("warmup_steps", self.warmup_steps, 0, 10_000_000)
        _number("min_lr", self.min_lr, 0.0, 100.0)
        _whole("seed", self.seed, 0, 2**64 - 1)
        _whole("eval_every", self.eval_every, 0, 10_000_000)
        _whole("eval_batches", self.eval_batches, 1, 4096)


@dataclass(frozen=True, kw_only=True)
class RunConfig:
    """Everything that decides the losses of a run, but for the text."""

    model: ModelConfig = field(default_factory=ModelConfig)
    train: TrainConfig = field(default_factory=TrainConfig)

    @property
    def tokens_per_step(self) -> int:
        """R = B T."""
        return self.train.batch_size * self.model.block_size

    def to_dict(self) -> dict[str, Any]:
        """Return the hyperparameters as one flat dict; `from_dict` reads it."""
        return {**vars(self.model), **vars(self.train)}

    def replace(self, **changes: object) -> RunConfig:
        """Return a copy with some hyperparameters changed.

        Raises:
            ConfigError: a name is unknown or a value is out of range.
        """
        return RunConfig.from_dict({**self.to_dict(), **changes})

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> RunConfig:
        """Return the config of a flat dict; keys left out take their defaults.

        Raises:
            ConfigError: a name is unknown or a value is out of range.
        """
        model_keys = {f.name for f in fields(ModelConfig)}
        train_keys = {f.name for f in fields(TrainConfig)}
        unknown = sorted(set(values) - model_keys - train_keys)
        if unknown:
            known = ", ".join(sorted(model_keys | train_keys))
            raise ConfigError(
                f"unknown hyperparameter {', '.join(unknown)}; known are {known}"
            )
        return cls(
            model=ModelConfig(**{k: v for k, v in values.items() if k in model_keys}),
            train=TrainConfig(**{k: v for k, v in values.items() if k in train_keys}),
        )
