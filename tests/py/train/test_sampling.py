"""Choosing tokens: greedy, top-k with ties, temperature, the inverse CDF."""

import asyncio

import numpy as np
import pytest

from tabgrad.errors import ConfigError
from tabgrad.philox import Stream, uniforms
from tabgrad.train.sampling import (
    DRAWN_AT_ONCE,
    SamplingConfig,
    choose_token,
    generate,
)

LOGITS = np.array([0.0, 2.0, 1.0, 2.0, -1.0], np.float32)
GRID = np.linspace(0, 1, 1000, endpoint=False)


def chosen(**how):
    config = SamplingConfig(**how)
    return {choose_token(LOGITS, config, u) for u in GRID}


@pytest.mark.parametrize("how", [{"temperature": 0}, {"temperature": 1e-8}])
def test_no_temperature_is_greedy_with_the_lowest_id_on_ties(how):
    assert chosen(**how) == {1}


def test_top_1_is_greedy():
    assert chosen(top_k=1, temperature=5.0) == {1}


def test_exactly_k_stay_under_ties():
    logits = np.zeros(6, np.float32)
    config = SamplingConfig(top_k=3)
    assert {choose_token(logits, config, u) for u in GRID} == {0, 1, 2}


@pytest.mark.parametrize("top_k", [0, 5, 200])
def test_a_top_k_of_nothing_or_more_than_the_vocabulary_keeps_all(top_k):
    assert chosen(top_k=top_k, temperature=2.0) == {0, 1, 2, 3, 4}


def test_frequencies_are_the_softmax():
    config = SamplingConfig(temperature=0.7)
    got = np.bincount([choose_token(LOGITS, config, u) for u in GRID], minlength=5)
    weights = np.exp(LOGITS / 0.7)
    np.testing.assert_allclose(got / 1000, weights / weights.sum(), atol=0.002)


def test_uniform_near_one_never_leaves_the_kept_tokens():
    config = SamplingConfig(top_k=2)
    assert choose_token(LOGITS, config, 1 - 2**-32) in {1, 3}


class SameLogits:
    """Gives the same logits for every text."""

    async def logits(self, ids):
        return LOGITS


def test_each_token_takes_the_uniform_of_its_own_sub_stream():
    config = SamplingConfig(max_tokens=DRAWN_AT_ONCE + 3, seed=2**40 + 7)

    async def tokens():
        prompt = np.zeros(1, np.uint32)
        return [token async for token in generate(SameLogits(), prompt, config)]

    wanted = [
        choose_token(LOGITS, config, uniforms(config.seed, Stream.SAMPLING, n, 1)[0])
        for n in range(config.max_tokens)
    ]
    assert asyncio.run(tokens()) == wanted


def test_huge_logits_do_not_overflow():
    logits = np.array([1e30, -1e30, 0], np.float32)
    assert choose_token(logits, SamplingConfig(temperature=1e-3), 0.5) == 0


@pytest.mark.parametrize(
    "bad",
    [
        {"temperature": -1.0},
        {"temperature": float("nan")},
        {"top_k": -1},
        {"max_tokens": 0},
        {"seed": -1},
    ],
)
def test_bad_values_are_refused_by_name(bad):
    with pytest.raises(ConfigError, match=next(iter(bad))):
        SamplingConfig(**bad)
