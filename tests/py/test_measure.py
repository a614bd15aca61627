"""What the bench page measures of a GPU, where the clock or the query is odd."""

import asyncio
from collections.abc import Sequence
from types import SimpleNamespace

import pytest

from tabgrad.backends.choice import call_key
from tabgrad.backends.measure import in_place_times, square_call
from tabgrad.backends.webgpu import Part
from tabgrad.errors import ConfigError


def test_a_step_too_short_for_the_clock_is_timed_in_place():
    call = square_call("matmul_nn", 8)

    async def time_ms(_: Part, parts: Sequence[Part], rounds: int) -> list[list[float]]:
        return [[0.0] * rounds for _ in parts]

    parts = [(call, "base", range(1))]
    backend = SimpleNamespace(parts=lambda _: parts, time_ms=time_ms)
    times = asyncio.run(in_place_times(backend, "train"))
    assert times == {call_key(call): 0.0}


@pytest.mark.parametrize("op", ["gelu_fwd", "other"])
def test_what_is_no_product_is_refused_in_words(op):
    with pytest.raises(ConfigError, match=f"got '{op}', wanted matmul_nn, .*bwd_wb"):
        square_call(op, 8)
