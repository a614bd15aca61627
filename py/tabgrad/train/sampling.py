"""Choosing the next token: temperature, top-k, seed."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tabgrad.errors import ConfigError
from tabgrad.philox import Stream, first_words
from tabgrad.train.trainer import Trainer

MAX_TEMPERATURE = 1000.0
MAX_TOKENS = 1_000_000
DRAWN_AT_ONCE = 64  # uniforms, as a draw costs about the same for one
GREEDY_BELOW = 1e-6  # a temperature up to this takes the likeliest token


@dataclass(frozen=True, kw_only=True)
class SamplingConfig:
    """How tokens are chosen; `top_k` 0 keeps all of them."""

    max_tokens: int = 200
    temperature: float = 1.0
    top_k: int = 0
    seed: int = 0

    def __post_init__(self) -> None:
        """Raise ConfigError for a value outside its range."""
        temperature = self.temperature
        if not (math.isfinite(temperature) and 0 <= temperature <= MAX_TEMPERATURE):
            raise ConfigError(
                f"temperature: got {temperature}, wanted 0 to {MAX_TEMPERATURE:g}"
            )
        if not 1 <= self.max_tokens <= MAX_TOKENS:
            raise ConfigError(
                f"max_tokens: got {self.max_tokens}, wanted 1 to {MAX_TOKENS}"
            )
        if self.top_k < 0:
            raise ConfigError(f"top_k: got {self.top_k}, wanted 0 (all) or more")
        if not 0 <= self.seed < 2**64:
            raise ConfigError(f"seed: got {self.seed}, wanted 0 to 2**64 - 1")


def choose_token(
    logits: NDArray[np.float32], config: SamplingConfig, uniform: float
) -> int:
    """Return a token id.

    The `top_k` largest logits stay (lowest id first among equals); token i is taken
    where the running sum of softmax(logits / temperature), by ascending id, first
    exceeds `uniform`.

    Args:
        logits: (V,).
        config: temperature and top_k.
        uniform: in [0, 1).
    """
    if config.temperature <= GREEDY_BELOW or config.top_k == 1:
        return int(np.argmax(logits))
    scaled = logits.astype(np.float64) / config.temperature
    if 0 < config.top_k < len(scaled):
        order = np.argsort(-scaled, kind="stable")
        scaled[order[config.top_k :]] = -np.inf
    weights = np.exp(scaled - scaled.max())
    total = np.cumsum(weights)
    at = int(np.searchsorted(total, uniform * total[-1], side="right"))
    return min(at, int(np.flatnonzero(weights)[-1]))


async def generate(
    trainer: Trainer, prompt: NDArray[np.uint32], config: SamplingConfig
) -> AsyncIterator[int]:
    """Yield token ids that continue a prompt of at least one token."""
    ids = prompt
    for n in range(config.max_tokens):
        if n % DRAWN_AT_ONCE == 0:
            subs = range(n, n + DRAWN_AT_ONCE)
            drawn = first_words(config.seed, Stream.SAMPLING, subs, 1)[:, 0] / 2.0**32
        logits = await trainer.logits(ids)
        token = choose_token(logits, config, float(drawn[n % DRAWN_AT_ONCE]))
        ids = np.append(ids, np.uint32(token))
        yield token
