"""The loop on the numpy backend: chunks, evaluation, stop, divergence."""

import asyncio
import math

import numpy as np
import pytest

from tabgrad.backends.numpy import NumpyBackend
from tabgrad.errors import NonFiniteError
from tabgrad.presets import preset
from tabgrad.text.split import split_text
from tabgrad.train.sampling import SamplingConfig, generate
from tabgrad.train.trainer import Evaluated, StepsDone, Trainer

PROSE = b"Now is the winter of our discontent made glorious summer. " * 40


def run_of(text=PROSE, **changes):
    config = preset("Nano").replace(**changes)
    tokens = np.frombuffer(text, np.uint8).astype(np.uint32)
    split = split_text(tokens, config.model.block_size)
    trainer = Trainer(config, split, NumpyBackend())
    asyncio.run(trainer.start())
    return trainer


def train(trainer, n):
    events = []
    asyncio.run(trainer.train(n, events.append))
    return events


def losses(events):
    return [x for e in events if isinstance(e, StepsDone) for x in e.losses]


def test_an_untrained_loss_is_ln_v():
    assert losses(train(run_of(), 1))[0] == pytest.approx(math.log(256), abs=0.05)


def test_a_tiny_model_learns_its_text_by_heart():
    got = losses(train(run_of(lr=1e-2, eval_every=0), 120))
    assert got[-1] < 1.0


def test_steps_one_by_one_are_steps_at_once():
    one = run_of(eval_every=0)
    singles = [x for _ in range(7) for x in losses(train(one, 1))]
    assert singles == losses(train(run_of(eval_every=0), 7))


def test_evaluation_changes_no_loss():
    with_eval = train(run_of(eval_every=3, eval_batches=2), 10)
    without = train(run_of(eval_every=0), 10)
    assert losses(with_eval) == losses(without)
    steps = [e.step for e in with_eval if isinstance(e, Evaluated)]
    assert steps == [3, 6, 9]


def test_no_held_out_text_means_no_validation_loss():
    trainer = run_of(text=PROSE[:20], eval_every=2)
    events = train(trainer, 4)
    assert len(losses(events)) == 4
    assert not any(isinstance(e, Evaluated) for e in events)
    assert asyncio.run(trainer.evaluate()) is None


def test_a_request_to_stop_ends_after_the_steps_under_way():
    trainer = run_of(eval_every=0)

    def stop_at_three(event):
        if event.step >= 3:
            trainer.request_stop()

    asyncio.run(trainer.train(1000, stop_at_three))
    assert 3 <= trainer.step < 200
    before = trainer.step
    assert len(losses(train(trainer, 2))) == 2
    assert trainer.step == before + 2


@pytest.mark.filterwarnings("ignore")
def test_divergence_stops_at_the_first_bad_step_with_advice():
    trainer = run_of(lr=100.0, grad_clip=0.0, eval_every=0)
    events = []
    with pytest.raises(NonFiniteError, match=r"diverged at step .*learning rate"):
        asyncio.run(trainer.train(500, events.append))
    got = losses(events)
    assert trainer.step == len(got) < 500
    assert all(map(math.isfinite, got))


@pytest.mark.filterwarnings("ignore")
def test_after_divergence_the_weights_are_those_of_the_last_good_step():
    trainer = run_of(lr=100.0, grad_clip=0.0, eval_every=0)
    with pytest.raises(NonFiniteError):
        train(trainer, 500)
    good = trainer.step
    again = run_of(lr=100.0, grad_clip=0.0, eval_every=0)
    train(again, good)
    for name in ("page.0.w", "page.0.m", "page.0.v"):
        kept = asyncio.run(trainer.backend.read(name))
        assert kept.tolist() == asyncio.run(again.backend.read(name)).tolist()


def test_a_run_goes_on_after_a_halt():
    trainer = run_of(eval_every=0)
    train(trainer, 3)
    name = "h.0.mlp.c_fc.bias"
    kept = asyncio.run(trainer.backend.read(name))
    asyncio.run(trainer.backend.write(name, np.full_like(kept, np.inf)))
    with pytest.raises(NonFiniteError, match="step 4"):
        train(trainer, 3)
    asyncio.run(trainer.backend.write(name, kept))
    trainer.set_learning_rate(1e-4)
    assert trainer.step == 3
    events = train(trainer, 2)
    assert events[-1].step == 5
    assert events[-1].lr == 1e-4


def test_the_gradient_norm_is_of_the_step_it_belongs_to():
    events = train(run_of(eval_every=0), 5)
    norms = [x for e in events for x in e.grad_norms]
    assert len(norms) == 5
    assert all(n > 0 for n in norms)
    assert len(set(norms)) == 5


def test_what_follows_the_prompt_has_no_effect_on_its_logits():
    trainer = run_of()
    short = asyncio.run(trainer.logits(np.array([5, 6], np.uint32)))
    long = asyncio.run(trainer.logits(np.arange(300, dtype=np.uint32) % 256))
    again = asyncio.run(trainer.logits(np.array([5, 6], np.uint32)))
    assert short.shape == (256,)
    assert short.tolist() == again.tolist() != long.tolist()


def test_sampling_is_a_function_of_its_seed():
    trainer = run_of()
    prompt = np.array([10], np.uint32)

    def sample(seed):
        config = SamplingConfig(max_tokens=20, seed=seed)

        async def collect():
            return [t async for t in generate(trainer, prompt, config)]

        return asyncio.run(collect())

    assert sample(1) == sample(1) != sample(2)
