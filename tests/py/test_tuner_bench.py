"""The bench of the tuner: what a pass is made of, in and out of the cache."""

import asyncio

import numpy as np
import pytest

from tabgrad.backends.tuner_bench import EVICT, GpuBench
from tabgrad.backends.variant import BASE
from tabgrad.backends.variants import base_variant
from tabgrad.ops import OPS
from tabgrad.ops.cases import case_call
from tests.py.fake_gpu import FakeHost, Promise

CALL = case_call(OPS["gelu_fwd"], {"R": 8, "F": 8}, False)[0]


class TimedHost(FakeHost):
    """Each kernel takes a millisecond."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[list[dict]] = []
        self.player.time = self.time

    def time(self, _: object, warm_up: dict, parts: list[dict], rounds: int) -> Promise:
        self.parts.append(parts)
        one = [float(part["count"] * part["repeats"]) for part in parts]
        return Promise(np.array(one * rounds).tobytes())


@pytest.mark.parametrize("is_cold", [False, True])
def test_what_empties_the_cache_is_not_counted(is_cold: bool) -> None:
    host = TimedHost()
    bench = GpuBench(host)
    rows = [base_variant(CALL.op.name)]

    async def times() -> list[list[float]]:
        assert not await bench.load(CALL, rows, is_cold=is_cold)
        return await bench.time_ms((BASE, 1), [(BASE, 5), (BASE, 3)], 2)

    assert asyncio.run(times()) == [[5.0, 5.0], [3.0, 3.0]]
    (parts,) = host.parts
    assert [part["program"] for part in parts] == [BASE, BASE, *([EVICT] * is_cold)]
    assert len(host.player.programs[BASE]) == 5 * (1 + is_cold)
