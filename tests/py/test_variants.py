"""The table of kernels: every op has a base row, and no file is outside it."""

import pytest

from tabgrad.backends.variants import BASE, TILE, VARIANTS, WORKGROUP, base_variant
from tabgrad.backends.wgsl import case_kernels, wgsl_folder
from tabgrad.errors import PlanError
from tabgrad.ops import OPS, cases
from tabgrad.ops.cases import op_cases


def test_every_op_has_one_base_row() -> None:
    assert [v.op for v in VARIANTS if v.name == BASE] == list(OPS)


def test_names_are_unique_for_each_op() -> None:
    keys = [(v.op, v.name) for v in VARIANTS]
    assert len(set(keys)) == len(keys)


def test_every_wgsl_file_is_in_the_table() -> None:
    files = {path.stem for path in wgsl_folder().glob("*.wgsl")}
    libs = {path.stem for path in (wgsl_folder() / "lib").glob("*.wgsl")}
    assert files == {v.file for v in VARIANTS}
    assert libs == {lib for v in VARIANTS for lib in v.libs}


def test_no_variant_is_untested() -> None:
    """The op tests run the base rows; another row needs a test of its own here."""
    assert {v.name for v in VARIANTS} == {BASE}
    assert {kernel.label for kernel in case_kernels()} == set(OPS)


def test_base_rows_need_no_feature_and_fit_every_case() -> None:
    for op in OPS:
        variant = base_variant(op)
        assert not variant.needs
        assert all(variant.fits(consts) for consts in op_cases(op))


def test_cases_stand_at_the_edges_of_tiles_and_workgroups() -> None:
    assert (cases.TILE, cases.WORKGROUP) == (TILE, WORKGROUP)


@pytest.mark.parametrize(("m", "n", "groups"), [(1, 1, 1), (64, 32, 1), (65, 32, 2)])
def test_products_take_a_thread_for_each_tile(m: int, n: int, groups: int) -> None:
    variant = base_variant("matmul_nn")
    assert variant.workgroups({"M": m, "N": n, "K": 5}) == groups


def test_unknown_op_names_the_table() -> None:
    with pytest.raises(PlanError, match="nonsense has no base row in backends/var"):
        base_variant("nonsense")
