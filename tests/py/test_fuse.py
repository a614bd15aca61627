"""The fused plan does the plain plan's work: same numbers, fewer calls."""

import asyncio

import numpy as np
import pytest

from tabgrad.backends.numpy import NumpyBackend
from tabgrad.errors import PlanError
from tabgrad.fuse import RULES
from tabgrad.ops import OPS
from tabgrad.plan import build_plan
from tabgrad.presets import PRESETS, preset
from tabgrad.text.split import split_text
from tabgrad.train.trainer import StepsDone, Trainer

PROSE = np.frombuffer(b"All the world's a stage, and all the men. " * 60, np.uint8)


def losses_and_weights(*, is_fused):
    config = preset("Nano").replace(n_layer=2, n_head=2, eval_every=0)
    text = split_text(PROSE.astype(np.uint32), config.model.block_size)
    trainer = Trainer(config, text, NumpyBackend(), is_fused=is_fused)
    events = []

    async def run():
        await trainer.start()
        await trainer.train(8, events.append)
        return await trainer.backend.read("page.0.w")

    weights = asyncio.run(run())
    return [x for e in events if isinstance(e, StepsDone) for x in e.losses], weights


def test_fused_and_plain_are_bit_equal_on_numpy():
    plain, plain_weights = losses_and_weights(is_fused=False)
    fused, fused_weights = losses_and_weights(is_fused=True)
    assert fused == plain
    assert fused_weights.tolist() == plain_weights.tolist()


@pytest.mark.parametrize("name", PRESETS)
def test_a_step_is_at_most_22_calls_a_layer_and_15(name):
    plan = build_plan(preset(name), 1 << 20, is_fused=True)
    assert len(plan.programs["train"]) <= 22 * preset(name).model.n_layer + 15


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.fused)
def test_every_rule_applies_in_every_layer(rule):
    layers = preset("Small").model.n_layer
    plan = build_plan(preset("Small"), 1 << 20, is_fused=True)
    names = [call.op.name for call in plan.programs["train"]]
    assert rule.second not in names
    assert names.count(rule.fused) in {1, layers, 2 * layers, 4 * layers}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.fused)
def test_every_rule_names_arguments_that_exist(rule):
    ops = {"1": OPS[rule.first], "2": OPS[rule.second]}
    assert set(rule.args) == {a.name for a in OPS[rule.fused].args}
    for source in rule.args.values():
        number, name, *_ = source.split(".")
        assert ops[number].arg(name)


def test_a_read_of_what_the_rules_left_unwritten_is_refused(monkeypatch):
    without = [rule for rule in RULES if rule.fused != "matmul_nt_mul"]
    monkeypatch.setattr("tabgrad.fuse.RULES", without)
    with pytest.raises(
        PlanError, match=r"gelu_bwd reads h\.\d\.mlp\.fc, which no call"
    ):
        build_plan(preset("Nano"), 1 << 20, is_fused=True)


def test_no_second_buffer_of_the_size_of_the_logits():
    plan = build_plan(preset("Small"), 1 << 20, is_fused=True)
    assert "d.logits" not in plan.tensors
