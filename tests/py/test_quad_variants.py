"""Attention shared by quads: which heads a row fits, and what it takes."""

import re

import pytest

from tabgrad.backends.quad_variants import QUAD_VARIANTS, Quads
from tabgrad.backends.wgsl import assemble_passes
from tabgrad.ops import OPS
from tabgrad.ops.cases import case_call


@pytest.mark.parametrize("op", ["attention_fwd", "attention_bwd"])
@pytest.mark.parametrize(
    ("depth", "wanted"),
    [
        (8, set()),
        (12, {16}),
        (16, {16}),
        (20, {32}),
        (32, {32}),
        (25, {32}),
        (34, {64}),
        (66, set()),
        (64, {64}),
        (68, set()),
    ],
)
def test_a_head_has_the_rows_of_the_next_depth(
    op: str, depth: int, wanted: set[int]
) -> None:
    consts = {"R": 4, "C": depth, "H": 1, "T": 4}
    rows = [row for row in QUAD_VARIANTS if row.op == op and row.fits(consts)]
    assert {row.passes[-1].constants["DEPTH"] for row in rows} == wanted


def test_a_tile_has_a_row_for_each_quad_of_the_workgroup() -> None:
    quads = Quads(depth=32, own=32, slots=4, splits=8, at_once=2)
    assert quads.threads == 256
    assert quads.name == "quads32x64x32 4x2"


@pytest.mark.parametrize("row", QUAD_VARIANTS, ids=lambda row: f"{row.op} {row.name}")
def test_a_row_takes_the_memory_that_it_says(row) -> None:
    main = row.passes[-1]
    depth = main.constants["DEPTH"]
    consts = {"R": 4, "C": depth, "H": 1, "T": 4}
    source = assemble_passes(case_call(OPS[row.op], consts, False)[0], row)[-1].source
    slots = int(re.search(r"const SLOTS: u32 = (\d)u;", source)[1])
    others = main.constants["WG"] // 4
    splits = slots * others // main.constants["OWN"]
    kept = others if row.op == "attention_bwd" else splits * main.constants["OWN"]
    declared = re.findall(r"var<workgroup> \w+: array<(vec\d<f32>), (.+)>;", source)
    assert declared[0] == ("vec4<f32>", "2u * PART_B")
    assert [kind for kind, _ in declared[1:]] == ["vec2<f32>"]
    assert 8 * others * depth + 8 * kept <= row.workgroup_bytes(consts)
