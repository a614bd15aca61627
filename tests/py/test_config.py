"""Defaults against the reference's table; every bad value gets a clear error."""

import dataclasses

import pytest

from tabgrad.config import (
    CLIP_EPS,
    INIT_STD,
    LAYERNORM_EPS,
    ModelConfig,
    RunConfig,
    TrainConfig,
)
from tabgrad.errors import ConfigError


def test_defaults_are_the_reference():
    train = TrainConfig()
    assert (train.beta1, train.beta2, train.eps) == (0.9, 0.95, 1e-8)
    assert train.weight_decay == 0.1
    assert train.grad_clip == 1.0
    assert CLIP_EPS == 1e-6
    assert train.lr == 3e-4
    assert train.schedule == "constant"
    assert train.warmup_steps == 0
    assert INIT_STD == 0.02
    assert LAYERNORM_EPS == 1e-5


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_layer", 0),
        ("n_head", -1),
        ("n_embd", 2.5),
        ("block_size", True),
        ("vocab_size", 0),
        ("batch_size", "16"),
        ("steps", 0),
        ("lr", float("nan")),
        ("lr", -1e-3),
        ("lr", float("inf")),
        ("beta1", 1.0),
        ("beta2", -0.1),
        ("eps", 0.0),
        ("weight_decay", -1),
        ("grad_clip", -0.5),
        ("schedule", "step"),
        ("warmup_steps", -1),
        ("min_lr", -1),
        ("seed", -1),
        ("seed", 2**64),
        ("eval_every", -1),
        ("eval_batches", 0),
    ],
)
def test_a_bad_value_is_refused_by_name(name, value):
    with pytest.raises(ConfigError, match=name):
        RunConfig.from_dict({name: value})


def test_heads_must_divide_the_width_and_the_error_says_what_would():
    message = r"n_embd 100 is not a multiple of n_head 12; try n_embd 96 or 108"
    with pytest.raises(ConfigError, match=message):
        ModelConfig(n_embd=100, n_head=12)


def test_an_unknown_name_is_refused_with_the_known_ones():
    with pytest.raises(ConfigError, match=r"unknown hyperparameter dModel.*n_embd"):
        RunConfig.from_dict({"dModel": 3})


def test_a_dict_goes_round():
    config = RunConfig().replace(n_layer=2, lr=1e-3, schedule="cosine")
    assert RunConfig.from_dict(config.to_dict()) == config


def test_configs_are_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        RunConfig().train.lr = 1.0
