"""The border to the C++ engine is what its exports give."""

import pytest

from tools.border import TARGET, border, signatures
from tools.shell import BuildError


def test_the_border_in_the_repository_is_that_of_the_engine() -> None:
    assert TARGET.read_text() == border(), "run python3 -m tools.border"


def test_each_export_has_a_letter_for_its_result_and_each_argument() -> None:
    source = """
EXPORTED const float* tg_one(std::size_t n, std::uint32_t low,
                             float std, int many) {
EXPORTED void tg_two() { return; }
EXPORTED int tg_three(const std::byte* plan) {
static int tg_four(int n) {
"""
    assert signatures(source) == {
        "tg_one": "p:pufi",
        "tg_two": "v:",
        "tg_three": "i:p",
    }


def test_a_type_that_the_border_does_not_know_is_refused() -> None:
    with pytest.raises(BuildError, match=r"'double'.*teach tools/border\.py"):
        signatures("EXPORTED int tg_one(double n) {\n")
