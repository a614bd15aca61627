"""The grouped plan does the fused plan's work: same numbers, fewer and larger calls."""

import asyncio

import numpy as np
import pytest

from tabgrad.backends.numpy import NumpyBackend
from tabgrad.group import GROUPED
from tabgrad.plan import build_plan
from tabgrad.presets import PRESETS, preset
from tabgrad.text.split import split_text
from tabgrad.train.trainer import StepsDone, Trainer

PROSE = np.frombuffer(b"All the world's a stage, and all the men. " * 60, np.uint8)


class GroupedNumpy(NumpyBackend):
    is_grouped = True


def losses_and_weights(backend, width):
    config = preset("Nano").replace(n_layer=3, n_head=2, n_embd=width, eval_every=0)
    text = split_text(PROSE.astype(np.uint32), config.model.block_size)
    trainer = Trainer(config, text, backend)
    events = []

    async def run():
        await trainer.start()
        await trainer.train(8, events.append)
        names = [param.name for param in trainer.plan.params]
        return [await backend.read(name) for name in names]

    weights = asyncio.run(run())
    losses = [x for e in events if isinstance(e, StepsDone) for x in e.losses]
    return losses, np.concatenate(weights), trainer.plan


def counts(plan, ops):
    names = [call.op.name for call in plan.programs["train"]]
    return [names.count(op) for op in ops]


# 64 channels fill places of the plan, 48 leave some of each padded
@pytest.mark.parametrize("width", [48, 64])
def test_grouped_and_fused_are_bit_equal_on_numpy(width):
    alone, alone_weights, _ = losses_and_weights(NumpyBackend(), width)
    losses, weights, plan = losses_and_weights(GroupedNumpy(), width)
    assert counts(plan, GROUPED.values()) == [4, 2]
    assert losses == alone
    assert weights.tolist() == alone_weights.tolist()


@pytest.mark.parametrize("name", PRESETS)
def test_the_layers_of_a_preset_come_in_six_groups(name):
    layers = preset(name).model.n_layer
    plan = build_plan(preset(name), 1 << 20, is_grouped=True)
    assert counts(plan, GROUPED) == ([4, 1] if layers == 1 else [0, 0])
    assert counts(plan, GROUPED.values()) == ([0, 1] if layers == 1 else [4, 2])
    assert len(plan.programs["train"]) <= 14 * layers + 20


def members(plan):
    return [
        call.consts["G"]
        for call in plan.programs["train"]
        if call.op.name == "grouped_linear_bwd_wb"
    ]


def test_a_limit_on_storages_splits_groups():
    config = preset("Small").replace(n_layer=6)
    whole = build_plan(config, 1 << 10, is_grouped=True)
    rows, width = config.tokens_per_step, config.model.n_embd
    limit = 2 * rows * 4 * width * 4  # two tensors as wide as the MLP
    split = build_plan(config, 1 << 10, limit, is_grouped=True)
    assert members(whole) == [6, 6, 6, 6]
    assert sorted(members(split)) == [2, 2, 2, 2, 2, 2, 2, 2, 2, 6]
    assert max(split.storages.values()) <= limit


def test_tensors_that_leave_gaps_are_not_grouped():
    config = preset("Small").replace(batch_size=1, block_size=63, n_head=1, n_embd=33)
    plan = build_plan(config, 1 << 20, is_grouped=True)
    assert counts(plan, GROUPED.values()) == [0, 0]


def test_no_activation_is_overwritten_before_its_last_use():
    plan = build_plan(preset("Small"), 1 << 20, is_grouped=True)
    calls = plan.programs["train"]
    holds: dict[tuple[str, int], str] = {}
    for call in calls:
        for arg in call.op.args:
            name = call.args[arg.name]
            if plan.tensors[name].role != "act" or name.startswith("all."):
                continue
            place = plan.places[name]
            at = (place.storage, place.offset)
            if arg.access == "read":
                assert holds[at] == name, f"{call.op.name} reads {name}"
            holds[at] = name


def test_stacks_are_their_members():
    plan = build_plan(preset("Small"), 1 << 20, is_grouped=True)
    stacks = [name for name in plan.tensors if name.startswith("all.")]
    assert len(stacks) == 4 * 4 + 2 * 6
    for stack in stacks:
        first = plan.places[stack.removeprefix("all.")]
        assert plan.places[stack] == first


def test_only_fused_plans_are_grouped():
    plan = build_plan(preset("Small"), 1 << 20, is_fused=False, is_grouped=True)
    assert counts(plan, GROUPED.values()) == [0, 0]
