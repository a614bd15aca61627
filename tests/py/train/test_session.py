"""Pause, step and stop: they change when steps run, never what they compute."""

import asyncio

import numpy as np
import pytest

from tabgrad.backends.numpy import NumpyBackend
from tabgrad.errors import NonFiniteError
from tabgrad.presets import preset
from tabgrad.text.split import split_text
from tabgrad.train.session import Paused, Session
from tabgrad.train.trainer import Trainer

PROSE = b"Now is the winter of our discontent made glorious summer. " * 40


async def session_of(**changes):
    config = preset("Nano").replace(eval_every=0, **changes)
    tokens = np.frombuffer(PROSE, np.uint8).astype(np.uint32)
    split = split_text(tokens, config.model.block_size)
    trainer = Trainer(config, split, NumpyBackend())
    await trainer.start()
    return Session(trainer)


async def until(condition):
    while not condition():
        await asyncio.sleep(0)


def paused_times(events):
    return sum(isinstance(event, Paused) for event in events)


def straight(**changes):
    async def run():
        session = await session_of(**changes)
        await session.train(lambda event: None)
        return session

    return asyncio.run(run())


def test_a_run_ends_at_its_goal_with_one_loss_a_step():
    session = straight(steps=7)
    assert len(session.losses) == len(session.grad_norms) == session.trainer.step == 7


def test_single_steps_give_the_losses_of_one_run():
    async def stepped():
        session = await session_of(steps=6)
        events = []
        task = asyncio.ensure_future(session.train(events.append, pause_after=1))
        for n in range(1, 6):
            await until(lambda n=n: paused_times(events) == n)
            assert session.trainer.step == n
            session.resume(1)
        await task
        return session

    assert asyncio.run(stepped()).losses == straight(steps=6).losses


def test_a_pause_holds_the_run_until_it_goes_on():
    async def paused():
        session = await session_of(steps=500)
        events = []
        task = asyncio.ensure_future(session.train(events.append))
        await until(lambda: session.trainer.step > 2)
        session.pause()
        await until(lambda: paused_times(events) == 1)
        held = session.trainer.step
        await asyncio.sleep(0.05)
        assert session.trainer.step == held < 500
        session.resume()
        await task
        return session

    assert asyncio.run(paused()).losses == straight(steps=500).losses


@pytest.mark.parametrize("is_paused", [False, True])
def test_stop_ends_a_run_that_trains_or_waits(is_paused):
    async def stopped():
        session = await session_of(steps=100_000)
        events = []
        after = 2 if is_paused else None
        task = asyncio.ensure_future(session.train(events.append, after))
        await until(lambda: session.trainer.step >= 2)
        if is_paused:
            await until(lambda: paused_times(events) == 1)
        session.stop()
        await asyncio.wait_for(task, 10)
        return session

    session = asyncio.run(stopped())
    assert session.is_stopped
    assert len(session.losses) == session.trainer.step < 100_000


def test_a_run_that_diverges_keeps_its_curve():
    async def diverged():
        session = await session_of(steps=50, lr=100.0, grad_clip=0.0)
        with pytest.raises(NonFiniteError):
            await session.train(lambda event: None)
        return session

    session = asyncio.run(diverged())
    assert 0 < len(session.losses) == session.trainer.step < 50
