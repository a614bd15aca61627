"""The table of kernels: every op has a base row, and no file is outside it."""

import pytest

from tabgrad.backends.lab import EXPERIMENTS
from tabgrad.backends.lab_bench import STEP_FILES
from tabgrad.backends.probes import PROBES
from tabgrad.backends.product_variants import TILE
from tabgrad.backends.row_check import DEVIATION_ROW
from tabgrad.backends.variant import BASE, WORKGROUP
from tabgrad.backends.variants import VARIANTS, base_variant, fitting_variants
from tabgrad.backends.wgsl import case_kernels, wgsl_folder
from tabgrad.errors import PlanError
from tabgrad.ops import OPS, cases
from tabgrad.ops.cases import op_cases

FEATURES = frozenset({"subgroups", "shader-f16"})


def test_every_op_has_one_base_row() -> None:
    assert [v.op for v in VARIANTS if v.name == BASE] == list(OPS)


def test_names_are_unique_for_each_op() -> None:
    keys = [(v.op, v.name) for v in VARIANTS]
    assert len(set(keys)) == len(keys)


def test_every_wgsl_file_is_in_the_table() -> None:
    folder = wgsl_folder()
    paths = {path.relative_to(folder) for path in folder.rglob("*.wgsl")}
    ways = [way for make in EXPERIMENTS.values() for way in make(True).ways]
    tried = [row for way in ways for _, row in way.steps]
    probes = (*PROBES, DEVIATION_ROW)
    rows = [row for v in (*VARIANTS, *probes, *tried) for row in v.passes]
    used = {file for row in rows for file in row.files} | set(STEP_FILES)
    assert {path.with_suffix("").as_posix() for path in paths} == used


def test_no_variant_is_untested() -> None:
    """The op tests run every row on the cases that fit it: each has some."""
    rows = [row for v in VARIANTS for row in v.passes]
    names = {f"{v.op}:{v.name}".removesuffix(f":{BASE}") for v in rows}
    assert {kernel.label for kernel in case_kernels()} == names


def test_rows_of_a_call_come_base_first_and_keep_to_the_device() -> None:
    for op in OPS:
        for consts in op_cases(op):
            least = fitting_variants(op, consts)
            most = fitting_variants(op, consts, FEATURES, 1 << 16)
            assert least[0].name == most[0].name == BASE
            assert {v.name for v in least} <= {v.name for v in most}
            assert all(v.fits(consts) and not v.needs for v in least)


def test_rows_of_half_precision_need_the_device_to_have_it() -> None:
    consts = {"M": 128, "N": 128, "K": 16}
    without = FEATURES - {"shader-f16"}
    every = {v.name for v in fitting_variants("matmul_nn", consts, FEATURES)}
    others = {v.name for v in fitting_variants("matmul_nn", consts, without)}
    assert every - others == {"64x64x16 8x8 f16", "128x128x16 8x8 f16"}


def test_rows_less_exact_than_their_op_are_never_tried() -> None:
    coarse = [v for v in VARIANTS if v.tol]
    assert {v.name.split()[-1] for v in coarse} == {"packed", "f16"}
    for variant in coarse:
        assert not any(map(variant.is_likely, op_cases(variant.op)))


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


def test_guarded_tiles_are_tried_where_no_tile_divides_a_product():
    def tried(op, **consts):
        rows = fitting_variants(op, consts)
        return [row.name for row in rows if row.name != BASE and row.is_likely(consts)]

    assert tried("matmul_nt", M=1024, N=65, K=96) == ["32x32x32 4x4 guarded"]
    assert tried("matmul_tn", M=400, N=100, K=1024) == [
        "32x32x32 4x4 guarded",
        "32x32x32 4x4 /16 guarded",
    ]
    assert tried("matmul_nt", M=512, N=50_257, K=768) == ["64x64x16 8x4 guarded"]
    assert tried("linear_fwd", M=1024, N=288, K=96) == ["32x32x32 4x4"]
