"""Learning rates are pure functions of the step."""

from itertools import pairwise

import numpy as np
import pytest

from tabgrad.config import TrainConfig
from tabgrad.train.schedule import learning_rate, step_scalars


def rates(**changes):
    config = TrainConfig(lr=1.0, steps=100, **changes)
    return [learning_rate(config, s) for s in range(101)]


def test_constant():
    assert set(rates()) == {1.0}


def test_warm_up_rises_in_equal_parts_to_lr():
    got = rates(warmup_steps=4)
    assert got[:5] == [0.25, 0.5, 0.75, 1.0, 1.0]


def test_cosine_falls_from_lr_to_min_lr():
    got = rates(schedule="cosine", warmup_steps=20, min_lr=0.1)
    assert got[20] == 1.0
    assert got[60] == pytest.approx(0.55)
    assert got[100] == pytest.approx(0.1)
    assert all(a >= b for a, b in pairwise(got[20:]))


def test_linear_falls_in_equal_parts():
    got = rates(schedule="linear", warmup_steps=0, min_lr=0.5)
    np.testing.assert_allclose(np.diff(got), -0.005)


def test_beyond_the_last_step_the_rate_stays():
    config = TrainConfig(lr=1.0, steps=10, schedule="linear", min_lr=0.2)
    assert learning_rate(config, 10_000) == pytest.approx(0.2)


def test_warm_up_longer_than_the_run():
    config = TrainConfig(lr=1.0, steps=10, schedule="cosine", warmup_steps=20)
    assert learning_rate(config, 9) == 0.5


def test_bias_corrections():
    lr, c1, c2, _ = step_scalars(TrainConfig(), range(5))[1]
    assert lr == np.float32(3e-4)
    assert c1 == np.float32(1 / (1 - 0.9**2))
    assert c2 == np.float32(1 / (1 - 0.95**2))
