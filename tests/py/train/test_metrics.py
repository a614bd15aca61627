"""Step times: the first apart, chunks spread over their steps."""

import pytest

from tabgrad.train.metrics import StepTimes


def times_of(*chunks):
    times = StepTimes()
    for n_steps, seconds in chunks:
        times.add(n_steps, seconds)
    return times


def test_the_first_step_stands_apart():
    times = times_of((1, 5.0), (4, 0.4))
    assert times.first_ms == 5000
    assert times.later_ms == pytest.approx([100] * 4)


def test_quantiles_are_over_steps_and_not_chunks():
    times = times_of((1, 1.0), (9, 0.9), (1, 1.0))
    assert times.quantile_ms(0.5) == pytest.approx(100)
    assert times.quantile_ms(1.0) == pytest.approx(1000)


def test_a_first_chunk_of_many_counts_one_step_as_first():
    assert times_of((3, 0.3)).later_ms == pytest.approx([100] * 2)


def test_a_single_step_has_its_own_time_as_median():
    summary = times_of((1, 0.5)).summary(tokens_per_step=100)
    assert summary["ms_per_step"]["median"] == 500
    assert summary["tokens_per_s"] == 200


def test_no_steps_have_no_times():
    summary = StepTimes().summary(tokens_per_step=100)
    assert summary["first_step_ms"] is None
    assert summary["tokens_per_s"] is None
