"""Marked loops are written out, and what they index becomes variables."""

import re

import pytest

from tabgrad.backends.unroll import constants, unrolled
from tabgrad.errors import BackendError

KERNEL = """const N: u32 = 2u;
const HALF: u32 = N / 2u;
fn main() {
  var sum: array<array<f32, N>, HALF>;
  var kept: array<f32, N>;
  for (var i = 0u; i < HALF; i++) { // unroll
    for (var j = 0u; j < N; j++) { // unroll
      sum[i][(j + 1u) % N] += x[i * 3u + j];
    }
  }
  for (var k = 0u; k < N; k++) {
    kept[k] = sum[0u][1u];
  }
}
"""


def code(text: str) -> list[str]:
    lines = [line.strip() for line in text.splitlines()]
    return [line for line in lines if line not in ("{", "}")]


def test_constants_are_computed_and_others_left_out() -> None:
    text = "const A: u32 = 3u;\nconst B: u32 = (A + 1u) / 2u;\nconst C = 1e-5;\n"
    assert constants(text) == {"A": 3, "B": 2}


def test_loops_are_written_out_and_arrays_dissolved() -> None:
    text = KERNEL.replace("(j + 1u) % N", "j")
    assert code(unrolled([text])) == [
        "const N: u32 = 2u;",
        "const HALF: u32 = N / 2u;",
        "fn main() {",
        "var sum_0_0 = f32();",
        "var sum_0_1 = f32();",
        "var kept: array<f32, N>;",
        "sum_0_0 += x[0];",
        "sum_0_1 += x[1];",
        "for (var k = 0u; k < N; k++) {",
        "kept[k] = sum_0_1;",
    ]


def test_what_a_comment_indexes_does_not_count() -> None:
    text = "// sum[i, j] of the rows\n" + KERNEL.replace("(j + 1u) % N", "j")
    assert "var sum_0_0 = f32();" in unrolled([text])


def test_an_array_with_another_index_stays() -> None:
    assert "var sum: array<array<f32, N>, HALF>;" in unrolled([KERNEL])


def test_a_module_without_the_mark_is_returned_as_it_is() -> None:
    text = re.sub(" // unroll", "", KERNEL)
    assert unrolled([text]) == text


def test_a_bound_that_is_no_constant_is_named() -> None:
    with pytest.raises(BackendError, match="unroll: HALF in for"):
        unrolled([KERNEL.replace("const HALF", "const OTHER")])


def test_a_loop_without_an_end_is_named() -> None:
    with pytest.raises(BackendError, match=r"unroll: .* has no end"):
        unrolled(["const N: u32 = 2u;\n  for (var i = 0u; i < N; i++) { // unroll\n"])


def test_a_constant_may_be_given_instead_of_declared() -> None:
    text = KERNEL.replace("const N: u32 = 2u;\n", "")
    whole = text.replace("(j + 1u) % N", "j")
    assert "var sum_0_1 = f32();" in unrolled([whole], {"N": 2})
    assert "var sum_0_1 = f32();" in unrolled(["const N: u32 = 2u;\n", whole])
    with pytest.raises(BackendError, match="unroll: HALF in for"):
        unrolled([text])
