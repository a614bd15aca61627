"""Forced rows apply where they fit; keys tell calls apart by what their kernels are."""

import asyncio

import pytest

from tabgrad.backends.base import no_progress
from tabgrad.backends.choice import BaseRows, Chooser, ForcedRows, call_key
from tabgrad.backends.variant import BASE, Variant
from tabgrad.backends.variants import base_variant
from tabgrad.errors import ConfigError
from tabgrad.ops import OPS, Call, Tol
from tabgrad.ops.cases import case_call
from tabgrad.plan import single_call_plan

WIDE = Variant("wide", "gelu_fwd", "wide", len, fits=lambda c: int(c["F"]) % 4 == 0)


COARSE = Variant("coarse", "gelu_fwd", "coarse", len, tol=Tol(rel=0.1, abs=0.1))


@pytest.fixture(autouse=True)
def two_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = (base_variant("gelu_fwd"), base_variant("gelu_bwd"), WIDE, COARSE)
    monkeypatch.setattr("tabgrad.backends.choice.VARIANTS", rows)


def row_of(chooser: Chooser, op: str, **sizes: int) -> str:
    call, tensors = case_call(OPS[op], sizes, False)
    plan = single_call_plan(call, tensors)
    return asyncio.run(chooser.choose(plan, no_progress))("op", call).name


def test_base_rows_take_the_base_row() -> None:
    assert row_of(BaseRows(), "gelu_fwd", R=2, F=8) == BASE


def test_forced_row_is_taken_where_it_fits() -> None:
    forced = ForcedRows({"gelu_fwd": "wide"})
    assert row_of(forced, "gelu_fwd", R=2, F=8) == "wide"
    assert row_of(forced, "gelu_fwd", R=2, F=9) == BASE
    assert row_of(forced, "gelu_bwd", R=2, F=8) == BASE


@pytest.mark.parametrize(
    ("names", "match"),
    [
        ({"gelu_fwd": "narrow"}, "gelu_fwd got 'narrow', wanted base, wide$"),
        ({"gelu_fwd": "coarse"}, "gelu_fwd got 'coarse', wanted base, wide$"),
        ({"dance": "wide"}, "dance got 'wide', wanted no row: there is no such op"),
    ],
)
def test_unknown_rows_are_refused(names: dict[str, str], match: str) -> None:
    with pytest.raises(ConfigError, match=match):
        ForcedRows(names)


def test_keys_hold_op_sizes_and_added_arguments() -> None:
    call, _ = case_call(OPS["matmul_nn"], {"M": 2, "N": 3, "K": 4}, False)
    added = Call(call.op, call.args, call.consts, frozenset(call.op.adds))
    assert call_key(call) == "matmul_nn M=2 K=4 N=3"
    assert call_key(added) == f"matmul_nn M=2 K=4 N=3 +={call.op.adds[0]}"
