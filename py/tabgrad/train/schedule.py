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


def step_scalars(config: TrainConfig, steps: range) -> NDArray[np.float32]:
    """Return (len(steps), 4) of what AdamW needs in each step, counted from 0.

    lr, 1 / (1 - beta1^t), 1 / (1 - beta2^t), 0, with t = step + 1.
    """
    rows = [
        (
            learning_rate(config, step),
            1.0 / (1.0 - config.beta1 ** (step + 1)),
            1.0 / (1.0 - config.beta2 ** (step + 1)),
            0.0,
        )
        for step in steps
    ]
    return np.array(rows, np.float32)
