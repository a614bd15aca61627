"""The shared setting of benchmark pages, held to draws of the pages' own code."""

import asyncio

import numpy as np
import pytest

from tabgrad.backends.numpy import NumpyBackend
from tabgrad.config import RunConfig
from tabgrad.train.peer import PeerTrainer, corpus, mulberry32, normals
from tabgrad.train.trainer import StepsDone

# of the pages' script, in JavaScript
DRAWS_OF_1337 = [
    0.1844118325971067,
    0.18998925131745636,
    0.8104719922412187,
    0.6437488221563399,
]
FIRST_WEIGHTS = [0.013540422543883324, 0.03419245406985283, -0.008027095347642899]
TOKENS = [0, 0, 0, 63, 25, 0, 0, 0, 0, 63, 25, 0, 63, 25, 35, 53, 50, 46, 1, 26]
LAST_TOKENS = [61, 28, 53]
SECOND_BATCH = [40, 39, 47, 3, 16, 44]
LAST_WEIGHTS = [-0.0033719453494995832, -0.021819306537508965]

# eight steps of this model by jax-js 0.1.25
LOSSES = [4.145683, 4.053549, 3.993751, 3.936292]
LOSSES += [3.910506, 3.802915, 3.776635, 3.740401]

CONFIG = RunConfig.from_dict(
    {"n_layer": 2, "n_embd": 64, "n_head": 4, "block_size": 64, "batch_size": 4}
    | {"vocab_size": 65, "lr": 1e-3, "grad_clip": 0, "steps": 5}
)


def test_draws_and_normals_are_those_of_the_pages() -> None:
    assert mulberry32(1337, 0, 4).tolist() == DRAWS_OF_1337
    assert mulberry32(1337, 2, 2).tolist() == DRAWS_OF_1337[2:]
    assert normals(1337, 0, 4, 0.02)[:3] == pytest.approx(FIRST_WEIGHTS, rel=1e-6)


def test_the_token_stream_is_that_of_the_pages() -> None:
    tokens = corpus(65)
    assert tokens[: len(TOKENS)].tolist() == TOKENS
    assert tokens[-3:].tolist() == LAST_TOKENS


def test_weights_and_batches_are_the_pages_own_and_losses_agree() -> None:
    backend = NumpyBackend()
    trainer = PeerTrainer(CONFIG, backend)
    losses: list[float] = []

    async def run() -> tuple[np.ndarray, np.ndarray]:
        await trainer.start()
        weights = await backend.read("h.1.mlp.c_proj.weight")
        await trainer.train(
            2, lambda e: losses.extend(e.losses if isinstance(e, StepsDone) else [])
        )
        ids = await backend.read("ids")
        await trainer.train(6, lambda e: losses.extend(e.losses))
        return weights, ids

    weights, ids = asyncio.run(run())
    assert weights[-2:] == pytest.approx(LAST_WEIGHTS, rel=1e-6)
    assert ids[: len(SECOND_BATCH)].tolist() == SECOND_BATCH
    assert losses == pytest.approx(LOSSES, rel=2e-6)
