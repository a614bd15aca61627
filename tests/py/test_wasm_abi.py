"""The words in which a plan reaches the C++ engine."""

import struct

import pytest

from tabgrad.backends.wasm_abi import (
    MAGIC,
    OP_NUMBERS,
    contract_hash,
    is_count,
    lay_out,
    scratch_bytes,
    serialise,
    shared_bytes,
)
from tabgrad.ops import OPS
from tabgrad.ops.cases import case_call
from tabgrad.plan import build_plan, single_call_plan
from tabgrad.presets import PRESETS, preset

RESIDUAL = {"R": 3, "C": 50}


def residual_plan():
    call, tensors = case_call(OPS["residual_bwd"], RESIDUAL, True)
    return single_call_plan(call, tensors)


def words_of(plan, arena):
    text = serialise(plan, arena)
    return struct.unpack(f"<{len(text) // 8}Q", text)


def test_a_plan_is_a_head_a_table_of_programs_and_calls():
    plan = residual_plan()
    head = [MAGIC, contract_hash(), 3 * 768, 3 * 768, 0]
    call = [OP_NUMBERS["residual_bwd"], 0b11, 0, 768, 2 * 768, 3, 50]
    assert words_of(plan, lay_out(plan)) == (*head, 1, 8, 1, *call)


def test_only_the_outputs_that_are_added_to_have_their_bit():
    call, tensors = case_call(OPS["residual_bwd"], RESIDUAL, False)
    plan = single_call_plan(call, tensors)
    assert words_of(plan, lay_out(plan))[9] == 0


def test_constants_that_are_no_counts_are_float64():
    consts = {"R": 2, "C": 5, "EPS": 1e-5}
    call, tensors = case_call(OPS["layernorm_fwd"], consts, False)
    plan = single_call_plan(call, tensors)
    text = serialise(plan, lay_out(plan))
    assert struct.unpack("<QQd", text[-24:]) == (2, 5, 1e-5)


@pytest.mark.parametrize("name", ["R", "T", "N_DECAY"])
def test_sizes_and_names_in_n_are_counts(name):
    assert is_count(name)


@pytest.mark.parametrize("name", ["EPS", "BETA1", "GRAD_CLIP", "WEIGHT_DECAY"])
def test_other_constants_are_not(name):
    assert not is_count(name)


def test_a_start_and_gaps_are_left_free():
    arena = lay_out(residual_plan(), start=1 << 33, gap=1)
    assert list(arena.starts.values()) == [(1 << 33) + i * 1024 for i in range(3)]


@pytest.mark.parametrize("name", [n for n in PRESETS if n != "Behemoth"])
def test_a_preset_takes_no_more_than_its_plan_and_some_scratch(name):
    plan = build_plan(preset(name), 1_115_394)
    calls = [call for program in plan.programs.values() for call in program]
    arena = lay_out(plan)
    assert arena.shared <= plan.n_bytes + 256 * len(plan.storages)
    assert arena.n_bytes == arena.shared + shared_bytes(calls)
    assert 0 < shared_bytes(calls) < 16 << 20
    assert 0 < scratch_bytes(calls) < 8 << 20


@pytest.mark.parametrize(
    ("m", "n", "vectors"),
    [
        (13, 9, 18 + 16),  # 6x8 and 4x16 want more than 4x8, each for one operand
        (12, 17, 12 + 32),  # 4x16 wants most
        (5, 15, 8 + 16),  # 4x8, and 4x16
        (25, 64, 30 + 64),  # 6x8
    ],
)
def test_a_product_shares_room_for_both_operands_in_whole_tiles(m, n, vectors):
    sizes = {"M": m, "K": 64, "N": n}
    call, tensors = case_call(OPS["matmul_nn"], sizes, False)
    assert shared_bytes([call]) == 4 * vectors * 64
    arena = lay_out(single_call_plan(call, tensors), start=512)
    assert arena.n_bytes - arena.shared == shared_bytes([call])
