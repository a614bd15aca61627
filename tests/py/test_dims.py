"""Symbolic shapes bind to numbers, and complain when they cannot."""

import pytest

from tabgrad.dims import bind_shape, parse_shape, resolve_shape
from tabgrad.errors import PlanError


def test_a_factor_divides():
    dims = {}
    bind_shape(parse_shape("R 3C"), (5, 12), dims, "x")
    assert dims == {"R": 5, "C": 4}
    assert resolve_shape(parse_shape("R 3C"), dims) == (5, 12)


def test_an_integer_axis():
    assert resolve_shape(parse_shape("S 4"), {"S": 2}) == (2, 4)
    with pytest.raises(PlanError, match="got size 3, wanted 4"):
        bind_shape(parse_shape("S 4"), (2, 3), {}, "x")


@pytest.mark.parametrize(
    ("text", "shape", "bound"),
    [("R C", (1,), {}), ("3C", (4,), {}), ("R C", (2, 3), {"C": 4})],
)
def test_what_does_not_fit_is_refused_with_the_place(text, shape, bound):
    with pytest.raises(PlanError, match=r"gelu_fwd\.x"):
        bind_shape(parse_shape(text), shape, dict(bound), "gelu_fwd.x")


def test_a_word_is_no_size():
    with pytest.raises(PlanError, match="'rows'"):
        parse_shape("rows C")
