"""Calls are checked against the contract when they are made."""

import pytest

from tabgrad.errors import PlanError
from tabgrad.graph import Graph
from tabgrad.tensors import Tensor


def graph_with(**shapes):
    graph = Graph({})
    for name, shape in shapes.items():
        graph.add(Tensor(name, shape))
    return graph


def test_written_tensors_are_made_with_the_shape_of_the_contract():
    graph = graph_with(x=(6, 5), w=(5, 7), b=(7,))
    graph.call("linear_fwd", {"x": "x", "w": "w", "b": "b", "y": "out"})
    assert graph.tensors["out"].shape == (6, 7)
    assert dict(graph.calls[0].consts) == {"M": 6, "K": 5, "N": 7}


def test_shapes_that_disagree_are_refused_by_name():
    graph = graph_with(x=(6, 5), w=(4, 7), b=(7,))
    with pytest.raises(PlanError, match=r"linear_fwd\.w \(w\): got size 4, wanted K"):
        graph.call("linear_fwd", {"x": "x", "w": "w", "b": "b", "y": "y"})


def test_a_missing_argument_is_refused():
    with pytest.raises(PlanError, match="gelu_fwd: got arguments"):
        graph_with(x=(2, 2)).call("gelu_fwd", {"x": "x"})


def test_reading_what_was_never_written_is_refused():
    with pytest.raises(PlanError, match=r"gelu_fwd\.x \(z\): read before"):
        graph_with(x=(2, 2)).call("gelu_fwd", {"x": "z", "y": "y"})


def test_a_wrong_dtype_is_refused():
    graph = graph_with(loss=(4,), index=(1,), ring=(8,))
    with pytest.raises(PlanError, match=r"loss_mean\.index .*got f32, wanted u32"):
        graph.call("loss_mean", {"loss": "loss", "index": "index", "ring": "ring"})


def test_a_constant_left_out_is_refused():
    graph = graph_with(x=(2, 3), w=(3,), b=(3,))
    args = dict.fromkeys(("x", "w", "b"), "")
    args = {k: k for k in (*args, "y", "mean", "rstd")}
    with pytest.raises(PlanError, match="layernorm_fwd: no value for EPS"):
        graph.call("layernorm_fwd", args)


def test_an_output_that_cannot_add_is_refused():
    graph = graph_with(x=(2, 3))
    with pytest.raises(PlanError, match="gelu_fwd: y cannot add"):
        graph.call("gelu_fwd", {"x": "x", "y": "y"}, adds=["y"])


def test_one_name_for_two_shapes_is_refused():
    graph = graph_with(x=(2, 3))
    with pytest.raises(PlanError, match="x is made twice"):
        graph.add(Tensor("x", (3, 2)))
