"""A run to hold against PyTorch."""

import asyncio

import numpy as np
import pytest

from tabgrad.backends.numpy import NumpyBackend
from tabgrad.presets import preset
from tabgrad.text.split import split_text
from tabgrad.train.trainer import Trainer


def prose(n):
    """Return n byte tokens with the statistics of text, without a download."""
    words = ["the", "king", "of", "a", "Rome\n", "speaks", "and", "so,", "thou", "art"]
    rng = np.random.default_rng(42)
    text = " ".join(rng.choice(words, n))
    return np.frombuffer(text.encode()[:n], np.uint8).astype(np.uint32)


@pytest.fixture(params=["Nano", "Small"])
def trainer(request):
    config = preset(request.param).replace(eval_every=0)
    text = split_text(prose(20_000), config.model.block_size)
    made = Trainer(config, text, NumpyBackend())
    asyncio.run(made.start())
    return made
