"""The bench of the tuner: what a pass is made of, in and out of the cache."""

import asyncio
from dataclasses import replace

import numpy as np
import pytest

from tabgrad.backends.row_check import HOLD
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
        self.warm_ups: list[dict] = []
        self.player.time = self.time

    def time(self, _: object, warm_up: dict, parts: list[dict], rounds: int) -> Promise:
        self.parts.append(parts)
        self.warm_ups.append(warm_up)
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


def test_passes_are_cut_where_evicting_is_slow_and_told_as_if_they_were_not() -> None:
    host = TimedHost()
    bench = GpuBench(host)

    async def times() -> list[list[float]]:
        assert not await bench.can_evict()  # a millisecond
        bench.evict_ms = 2.0
        await bench.load(CALL, [base_variant(CALL.op.name)], is_cold=True)
        return await bench.time_ms((BASE, 9), [(BASE, 6), (BASE, 2)], 1)

    assert asyncio.run(times()) == [[6.0], [2.0]]
    assert [part["repeats"] for part in host.parts[-1]] == [3, 2, 3]
    assert host.warm_ups[-1]["repeats"] == 3


@pytest.mark.parametrize("names", [[BASE], ["other"], [BASE, "other"]])
def test_rows_are_held_where_there_is_what_to_hold_and_to_what(
    names: list[str],
) -> None:
    base = base_variant(CALL.op.name)
    rows = [replace(base, name=name) for name in names]
    host = TimedHost()
    asyncio.run(GpuBench(host).load(CALL, rows))
    labels = {buffer.label for buffer in host.device.buffers}
    assert ("wanted.y" in labels) == (len(names) == 2)
    assert bool(host.player.programs[HOLD]) == (len(names) == 2)
