"""Backward calls: order, first write then add, and what is left out."""

import pytest

from tabgrad.autodiff import append_backward
from tabgrad.errors import PlanError
from tabgrad.graph import Graph
from tabgrad.plan import build_plan
from tabgrad.presets import preset
from tabgrad.tensors import Tensor


def train_calls():
    return build_plan(preset("Nano"), 1000, is_fused=False).programs["train"]


def test_a_tensor_used_twice_is_written_once_then_added_to():
    writes = {}
    for call in train_calls():
        for arg in call.op.outputs:
            if arg.access == "write":
                tensor = call.args[arg.name]
                writes.setdefault(tensor, []).append(arg.name in call.adds)
    assert writes["d.wte.weight"] == [False, True]  # head, then embedding
    assert writes["d.x"] == [False, True]  # residual, then LayerNorm
    for tensor, adds in writes.items():
        assert adds == [False] + [True] * (len(adds) - 1), tensor


def test_every_weight_gets_a_gradient_each_step():
    plan = build_plan(preset("Nano"), 1000, is_fused=False)
    written = {t for c in plan.programs["train"] for t in c.tensors_written()}
    assert {f"d.{p.name}" for p in plan.params} <= written


def test_a_gradient_wanted_before_any_is_made_is_an_error():
    graph = Graph({"x": Tensor("x", (2, 3))})
    graph.call("gelu_fwd", {"x": "x", "y": "y"})
    with pytest.raises(PlanError, match=r"gelu_bwd: d\.y is read before"):
        append_backward(graph, "y")
