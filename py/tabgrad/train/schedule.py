"""The learning rate and AdamW's bias corrections, pure functions of the step."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from tabgrad.config import TrainConfig


def learning_rate(config: TrainConfig, step: int) -> float:
    """Return the learning rate of a step, counted from 0.

    Warm-up rises linearly to `lr` over `warmup_steps`; then the rate stays, or
    falls to `min_lr` at `steps` along half a cosine or a line.
    """
    if step < config.warmup_steps:
        return config.lr * (step + 1) / config.warmup_steps
    if config.schedule == "constant":
        return config.lr
    left = max(1, config.steps - config.warmup_steps)
    progress = min(1.0, (step - config.warmup_steps) / left)
    if config.schedule == "cosine":
        progress = 0.5 - 0.5 * math.cos(math.pi * progress)
    return config.lr + (config.min_lr - config.lr) * progress


def step_scalars(config: TrainConfig, step: int) -> NDArray[np.float32]:
    """Return (4,): lr, 1 / (1 - beta1^t), 1 / (1 - beta2^t), 0, with t = step + 1."""
    t = step + 1
    return np.array(
        [
            learning_rate(config, step),
            1.0 / (1.0 - config.beta1**t),
            1.0 / (1.0 - config.beta2**t),
            0.0,
        ],
        np.float32,
    )
