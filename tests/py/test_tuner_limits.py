"""What the tuner cuts from calls that would fill the device's or the page's memory."""

from math import prod

import pytest

from tabgrad.backends.tuner_bench import MAX_FLAT, MEMBERS_OF_FLAT, limited
from tabgrad.ops import OPS
from tabgrad.plan import build_plan
from tabgrad.presets import PRESETS, preset


def elements(consts, *shapes):
    return consts["G"] * sum(prod(consts[letter] for letter in s) for s in shapes)


def test_a_flat_call_is_cut_to_the_limit_and_its_decay_range_with_it():
    adamw = OPS["adamw_update"]
    attrs = dict.fromkeys(adamw.attrs, 0.5)
    consts = {"N": 1000, "S": 64, **attrs, "N_DECAY": 900}
    assert limited(adamw, consts, 1000) == consts
    cut = limited(adamw, consts, 100)
    assert cut == {**consts, "N": 100, "N_DECAY": 50}


@pytest.mark.parametrize("name", ["Small", "XL", "Mega", "Behemoth"])
def test_a_group_keeps_as_many_members_as_fit(name):
    plan = build_plan(preset(name), 1 << 20, is_grouped=True)
    calls = [c for c in plan.programs["train"] if c.op.name == "grouped_linear_bwd_wb"]
    assert calls
    for call in calls:
        cut = limited(call.op, call.consts, MAX_FLAT)
        size = elements(cut, "KM", "KN", "MN", "W")
        assert {**cut, "G": call.consts["G"]} == call.consts
        assert size <= MEMBERS_OF_FLAT * MAX_FLAT
        one_more = {**cut, "G": cut["G"] + 1}
        is_whole = cut["G"] == call.consts["G"]
        most = MEMBERS_OF_FLAT * MAX_FLAT
        assert is_whole or elements(one_more, "KM", "KN", "MN", "W") > most
        assert is_whole or name == "Behemoth"


def test_a_member_larger_than_the_limit_stays():
    consts = {"G": 5, "K": 10, "M": 10, "N": 10, "W": 64}
    assert limited(OPS["grouped_linear_bwd_wb"], consts, 1)["G"] == 1


@pytest.mark.parametrize("name", PRESETS)
def test_products_and_rows_are_left_whole(name):
    plan = build_plan(preset(name), 1 << 20)
    for call in plan.programs["train"]:
        if "M" in call.op.dims or "R" in call.op.dims:
            assert limited(call.op, call.consts, MAX_FLAT) == call.consts
