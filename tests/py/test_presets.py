"""The preset ladder against the reference's table."""

import pytest

from tabgrad.errors import ConfigError
from tabgrad.model import parameters
from tabgrad.presets import DEFAULT_PRESET, PRESETS, preset

# preset: L, H, C, T, B, steps, parameters, tokens a step
REFERENCE = {
    "Tiny": (2, 3, 48, 32, 16, 2000, 70_464, 512),
    "Small": (3, 3, 96, 64, 16, 1500, 366_432, 1024),
    "Medium": (4, 4, 128, 96, 16, 1000, 838_400, 1536),
    "Large": (6, 6, 192, 128, 12, 600, 2_743_296, 1536),
    "XL": (8, 8, 256, 128, 8, 400, 6_416_896, 1024),
    "Huge": (12, 8, 256, 256, 8, 1500, 9_608_704, 2048),
    "Massive": (14, 12, 384, 256, 4, 1000, 25_039_872, 1024),
    "Mega": (14, 12, 384, 512, 2, 800, 25_138_176, 1024),
    "Behemoth": (24, 20, 1280, 512, 1, 50, 473_244_160, 512),
}


@pytest.mark.parametrize("name", REFERENCE)
def test_preset_is_the_reference(name):
    config = preset(name)
    model, train = config.model, config.train
    got = (model.n_layer, model.n_head, model.n_embd, model.block_size)
    got += (train.batch_size, train.steps, model.n_params, config.tokens_per_step)
    assert got == REFERENCE[name]
    assert model.vocab_size == 256
    assert train.lr == 3e-4


def test_the_ladder_is_the_reference_and_nano():
    assert list(PRESETS) == ["Nano", *REFERENCE]
    assert DEFAULT_PRESET == "Small"
    nano = preset("Nano")
    assert (nano.model.n_layer, nano.model.n_head, nano.model.n_embd) == (1, 1, 32)
    assert (nano.model.block_size, nano.train.batch_size) == (16, 8)


@pytest.mark.parametrize("name", PRESETS)
def test_the_formula_counts_the_parameters(name):
    config = preset(name).model
    total = sum(p.tensor.size for p in parameters(config))
    assert total == config.n_params


def test_an_unknown_preset_is_refused_with_the_known_ones():
    with pytest.raises(ConfigError, match=r"'Giant', wanted Nano, Tiny"):
        preset("Giant")
