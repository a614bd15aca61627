"""Initial weights are those of the reference and do not depend on slicing."""

import numpy as np
import pytest

from tabgrad.init import initial_weights
from tabgrad.model import parameters
from tabgrad.presets import preset

PARAMS = parameters(preset("Small").model)


@pytest.mark.parametrize("number", range(len(PARAMS)), ids=lambda i: PARAMS[i].name)
def test_deviation_and_constants(number):
    param = PARAMS[number]
    values = initial_weights(param, number, seed=1)
    if param.name.endswith(".bias"):
        assert not values.any()
    elif len(param.shape) == 1:
        assert (values == 1).all()
    else:
        out = param.name.endswith("c_proj.weight")
        std = 0.02 / np.sqrt(2 * 3) if out else 0.02
        assert abs(values.std() / std - 1) < 0.03
        assert abs(values.mean()) < 4 * std / np.sqrt(values.size)


def test_slices_are_the_whole():
    whole = initial_weights(PARAMS[0], 0, seed=3)
    parts = [initial_weights(PARAMS[0], 0, 3, s, 7) for s in range(0, 70, 7)]
    assert np.concatenate(parts).tolist() == whole[:70].tolist()


def test_tensors_and_seeds_differ():
    heads = {
        tuple(initial_weights(PARAMS[0], number, seed, 0, 4))
        for number in (0, 1)
        for seed in (0, 1)
    }
    assert len(heads) == 4
