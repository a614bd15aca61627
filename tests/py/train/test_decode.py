"""Logits by the caches are those of a whole window, and no cache is used when stale."""

import asyncio
from contextlib import suppress

import numpy as np
import pytest

from tabgrad.backends.numpy import NumpyBackend
from tabgrad.errors import BackendError
from tabgrad.presets import preset
from tabgrad.text.split import split_text
from tabgrad.train.sampling import SamplingConfig, generate
from tabgrad.train.trainer import DECODED_SHARE, Trainer

PROSE = b"Now is the winter of our discontent made glorious summer. " * 40
TOKENS = np.frombuffer(PROSE, np.uint8).astype(np.uint32)
SIZES = {"n_layer": 2, "n_head": 2, "n_embd": 24, "block_size": 24, "lr": 1e-2}
T = SIZES["block_size"]


class SpiedBackend(NumpyBackend):
    """Notes the programs that ran, and their steps."""

    def __init__(self):
        super().__init__()
        self.ran = []
        self.fails = False

    async def run(self, program, n_steps, writes, reads=()):
        self.ran.append((program, n_steps))
        if self.fails:
            raise BackendError("planted")
        return await super().run(program, n_steps, writes, reads)


class WindowBackend(NumpyBackend):
    has_decode = False


def started(backend):
    config = preset("Nano").replace(**SIZES, eval_every=0)
    trainer = Trainer(config, split_text(TOKENS, T), backend)
    asyncio.run(trainer.start())
    return trainer


@pytest.fixture
def trainer():
    made = started(SpiedBackend())
    asyncio.run(made.train(10, lambda _: None))
    made.backend.ran.clear()
    return made


def assert_right(trainer, ids):
    """The logits are those that a trainer without caches gives for the same weights."""
    got = asyncio.run(trainer.logits(ids))
    judge = started(WindowBackend())
    asyncio.run(judge.copy_weights(trainer))
    wanted = asyncio.run(judge.logits(ids))
    np.testing.assert_allclose(got, wanted, rtol=0, atol=1e-5 * np.abs(wanted).max())


def test_every_prefix_of_a_window_is_decoded_right(trainer):
    for n in range(1, T + 1):
        assert_right(trainer, TOKENS[:n])
    assert trainer.backend.ran == [("decode", 1)] * T


def test_only_what_the_caches_do_not_hold_is_decoded(trainer):
    few = T // DECODED_SHARE
    assert_right(trainer, TOKENS[:few])
    assert_right(trainer, TOKENS[: 2 * few])
    assert_right(trainer, TOKENS[: 2 * few])  # nothing is new but the last row runs
    assert trainer.backend.ran == [("decode", few), ("decode", few), ("decode", 1)]


def test_many_new_tokens_are_a_window_that_fills_the_caches(trainer):
    assert_right(trainer, TOKENS[:10])
    assert_right(trainer, TOKENS[:11])
    assert trainer.backend.ran == [("logits", 1), ("decode", 1)]


def test_another_text_is_decoded_from_where_it_differs(trainer):
    other = TOKENS[:12].copy()
    other[10:] += 1
    for ids in (TOKENS[:12], other, TOKENS[:11], TOKENS[100:112], TOKENS[100:102]):
        assert_right(trainer, ids)
    ran = [("logits", 1), ("decode", 2), ("decode", 1), ("logits", 1), ("decode", 1)]
    assert trainer.backend.ran == ran


def test_a_text_longer_than_the_window_moves_it(trainer):
    for n in range(T - 2, T + 3):
        assert_right(trainer, TOKENS[:n])
    programs = [program for program, _ in trainer.backend.ran]
    assert programs == ["logits", "decode", "decode", "logits", "logits"]


def test_a_window_that_moves_onto_equal_tokens_is_still_held(trainer):
    same = np.full(T + 3, 32, np.uint32)
    for n in (T, T + 1, T + 3):
        assert_right(trainer, same[:n])
    assert trainer.backend.ran == [("logits", 1), ("decode", 1), ("decode", 1)]


def test_ids_that_the_caller_changes_later_do_not_change_what_is_held(trainer):
    ids = TOKENS[:3].copy()
    assert_right(trainer, ids)
    ids[0] += 1
    assert_right(trainer, np.append(ids, TOKENS[3]))


@pytest.mark.parametrize("what", ["train", "evaluate", "weights"])
def test_caches_are_forgotten(trainer, what):
    assert_right(trainer, TOKENS[:10])
    if what == "train":
        asyncio.run(trainer.train(1, lambda _: None))
    elif what == "evaluate":
        asyncio.run(trainer.evaluate())
    else:
        asyncio.run(trainer.copy_weights(started(NumpyBackend())))
    assert_right(trainer, TOKENS[:11])
    assert trainer.backend.ran[-1] == ("logits", 1)


def test_caches_are_forgotten_when_a_program_fails(trainer):
    asyncio.run(trainer.logits(TOKENS[:10]))
    trainer.backend.fails = True
    with suppress(BackendError):
        asyncio.run(trainer.logits(TOKENS[:11]))
    trainer.backend.fails = False
    assert_right(trainer, TOKENS[:12])
    assert trainer.backend.ran[-1] == ("logits", 1)


def test_a_sample_while_training_goes_on_is_that_of_the_weights_of_its_time(trainer):
    """Steps run between two tokens; the weights do not change in this training."""
    trainer.set_learning_rate(0.0)
    config = SamplingConfig(max_tokens=2 * T, temperature=0.8, seed=3)

    async def sampled(by):
        return [t async for t in generate(by, TOKENS[:2], config)]

    async def beside_training():
        steps = asyncio.ensure_future(trainer.train(1000, lambda _: None))
        tokens = []
        async for token in generate(trainer, TOKENS[:2], config):
            tokens.append(token)
            for _ in range(token % 3):
                await asyncio.sleep(0)
        trainer.request_stop()
        await steps
        return tokens

    judge = started(WindowBackend())
    asyncio.run(judge.copy_weights(trainer))
    assert asyncio.run(beside_training()) == asyncio.run(sampled(judge))
    programs = [program for program, _ in trainer.backend.ran]
    assert "train" in programs[programs.index("logits") :]
    assert "decode" in programs


def test_a_backend_without_decode_has_no_such_program():
    assert "decode" not in started(WindowBackend()).plan.programs
