"""Logits, loss and every gradient against PyTorch, to 1e-5 relative."""

import asyncio

import numpy as np
import torch

from tabgrad.config import LAYERNORM_EPS
from tabgrad.text.batches import train_offsets
from tests.parity import torch_gpt

BAR = 1e-5


def read(trainer, name):
    shape = trainer.plan.tensors[name].shape
    return asyncio.run(trainer.backend.read(name)).reshape(shape)


def weights(trainer):
    return {
        p.name: torch.tensor(read(trainer, p.name).astype(np.float64))
        for p in trainer.plan.params
    }


def batch(trainer, step):
    config = trainer.config
    starts = train_offsets(
        trainer.text, config.train.seed, range(step, step + 1), config.train.batch_size
    )[0]
    at = starts.astype(np.int64)[:, None] + np.arange(config.model.block_size)
    tokens = trainer.text.tokens.astype(np.int64)
    return torch.tensor(tokens[at]), torch.tensor(tokens[at + 1])


def relative(got, wanted):
    return float(np.abs(got - wanted).max() / np.abs(wanted).max())


def test_logits(trainer):
    ids = trainer.text.tokens[: trainer.config.model.block_size]
    got = asyncio.run(trainer.logits(ids))
    n_head = trainer.config.model.n_head
    rows = torch.tensor(ids.astype(np.int64))[None]
    wanted = torch_gpt.logits(weights(trainer), rows, n_head, LAYERNORM_EPS)
    assert relative(got, wanted[0, -1].numpy()) <= BAR


def test_loss_and_every_gradient(trainer):
    before = weights(trainer)
    for tensor in before.values():
        tensor.requires_grad_()
    events = []
    asyncio.run(trainer.train(1, events.append))
    n_head = trainer.config.model.n_head
    wanted = torch_gpt.loss(before, *batch(trainer, 0), n_head, LAYERNORM_EPS)
    wanted.backward()
    assert relative(np.array(events[0].losses), wanted.detach().numpy()) <= BAR
    errors = {
        name: relative(read(trainer, f"d.{name}"), tensor.grad.numpy())
        for name, tensor in before.items()
    }
    assert max(errors.values()) <= BAR, errors
    norm = torch.sqrt(sum((t.grad**2).sum() for t in before.values()))
    assert relative(np.array(events[0].grad_norms), norm.numpy()) <= BAR


def test_twenty_steps_of_adamw(trainer):
    w = weights(trainer)
    for tensor in w.values():
        tensor.requires_grad_()
    optimiser = torch_gpt.adamw(w, trainer.config.train.lr)
    wanted = []
    for step in range(20):
        optimiser.zero_grad()
        loss = torch_gpt.loss(
            w, *batch(trainer, step), trainer.config.model.n_head, LAYERNORM_EPS
        )
        loss.backward()
        torch.nn.utils.clip_grad_norm_(w.values(), 1.0)
        optimiser.step()
        wanted.append(loss.item())
    events = []
    asyncio.run(trainer.train(20, events.append))
    got = np.array([x for e in events for x in e.losses])
    assert len(got) == 20
    errors = np.abs(got / np.array(wanted) - 1)
    assert errors.max() <= BAR, errors
