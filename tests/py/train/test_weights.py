"""Initial weights: whoever draws them, they are the same; engines are given back."""

import asyncio

import numpy as np
import pytest

from tabgrad.backends.numpy import NumpyBackend
from tabgrad.errors import BackendError
from tabgrad.philox import normals
from tabgrad.plan import build_plan
from tabgrad.presets import preset
from tabgrad.train import weights
from tabgrad.train.weights import borrow_nothing, draw_weights

SEED = 1337


class Engine:
    """Draws as the C++ engine does, and notes what it was asked for."""

    def __init__(self, n_bytes, breaks_at=None):
        self.memory = np.full(n_bytes // 4, np.nan, np.float32)
        self.drawn, self.freed, self.breaks_at = [], 0, breaks_at

    def fill_normals(self, offset, count, draw):
        if len(self.drawn) == self.breaks_at:
            raise BackendError("the engine broke")
        self.drawn.append(draw.sub)
        values = normals(draw.seed, draw.stream, draw.sub, 0, count)
        self.memory[offset // 4 :][:count] = np.float32(draw.std) * values

    def read(self, offset, into):
        into[:] = self.memory[offset // 4 :][: len(into)]

    def free(self):
        self.freed += 1


class Lender:
    """Lends one engine, or none."""

    def __init__(self, **engine):
        self.engine, self.lent = engine, []

    async def __call__(self, n_bytes):
        self.lent.append(Engine(n_bytes, **self.engine))
        return self.lent[-1]


async def weights_of(borrow):
    """Return the weights that a plan of Nano starts with, by name, and its params."""
    backend, plan = NumpyBackend(), build_plan(preset("Nano"), 1000)
    await backend.prepare(plan)
    told = []
    await draw_weights(backend, plan, SEED, lambda *news: told.append(news), borrow)
    assert told[-1] == ("weights", plan.n_params, plan.n_params)
    return {p.name: await backend.read(p.name) for p in plan.params}, plan.params


@pytest.fixture
def many(monkeypatch):
    monkeypatch.setattr(weights, "MANY_WEIGHTS", 1)


@pytest.mark.parametrize("slice_floats", [1 << 22, 1000])
@pytest.mark.usefixtures("many")
def test_weights_drawn_in_an_engine_are_those_of_numpy(monkeypatch, slice_floats):
    monkeypatch.setattr(weights, "_WRITE_FLOATS", slice_floats)
    lender = Lender()
    got, params = asyncio.run(weights_of(lender))
    wanted, _ = asyncio.run(weights_of(borrow_nothing))
    for name, values in wanted.items():
        np.testing.assert_array_equal(got[name], values, err_msg=name)
    (engine,) = lender.lent
    assert engine.drawn == [i for i, param in enumerate(params) if param.std]
    assert engine.freed == 1
    assert len(engine.memory) == max(param.tensor.size for param in params)


def test_few_weights_are_not_worth_an_engine():
    lender = Lender()
    asyncio.run(weights_of(lender))
    assert lender.lent == []


@pytest.mark.usefixtures("many")
def test_an_engine_that_breaks_is_given_back():
    lender = Lender(breaks_at=2)
    with pytest.raises(BackendError, match="broke"):
        asyncio.run(weights_of(lender))
    assert lender.lent[0].freed == 1
