"""The C++ engine under address and undefined-behaviour sanitizers."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tabgrad.backends.wasm_abi import SHARING, TILES
from tabgrad.ops import OPS
from tabgrad.ops.cases import op_cases
from tools import engine
from tools.paths import ROOT

THREADS = 3


def run_module(module: str, *words: str) -> dict:
    """Return what a module prints, in a process that has the sanitizers' runtime."""
    env = {**os.environ, **engine.native_env(), "PYTHONPATH": f"{ROOT / 'py'}:{ROOT}"}
    command = [sys.executable, "-m", module, *words]
    done = subprocess.run(
        command, cwd=ROOT, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def every_case(native_library: Path) -> dict:
    """Return the report of run_cases."""
    return run_module("tests.cpp.run_cases", str(native_library), str(THREADS))


@pytest.mark.parametrize("name", OPS)
def test_every_case_of_an_op_is_right_and_stays_inside_its_tensors(every_case, name):
    report = every_case[name]
    assert report["wrong"] == []
    n_tiles = len(TILES) if name in SHARING else 1
    assert report["cases"] == n_tiles * len(op_cases(name)) * (
        2 if OPS[name].adds else 1
    )


@pytest.fixture(scope="module")
def every_hash(native_library: Path) -> dict:
    """Return the report of run_threads; 4 and 6 cut both ways, 6 and 7 finer."""
    library = str(native_library)
    return run_module("tests.cpp.run_threads", library, "1", "2", "3", "4", "6", "7")


@pytest.mark.parametrize("name", OPS)
def test_an_op_is_bit_equal_for_any_number_of_threads_and_tile(every_hash, name):
    assert len(every_hash[name]) == 6 * (len(TILES) if name in SHARING else 1)
    assert len(set(every_hash[name])) == 1


def test_training_is_bit_equal_for_any_tile(native_library):
    words = (str(native_library), "Nano", "20", "2")
    runs = [
        run_module("tests.cpp.run_training", *words, "--tile", str(tile))["engine"]
        for tile in range(len(TILES))
    ]
    assert len({run["state"] for [run] in runs}) == 1
    assert len({tuple(run["losses"]) for [run] in runs}) == 1


@pytest.fixture(scope="module")
def choices(native_library: Path) -> dict:
    """Return the report of run_choice."""
    return run_module("tests.cpp.run_choice", str(native_library))


def test_a_tile_is_chosen_that_is_faster_by_more_than_noise_in_every_round(choices):
    # of 4x8, 6x8, which is the default, and 4x16
    assert choices["fastest"] == {
        "50 40 30": "4x8",
        "30 40 50": "4x16",
        "41.1 40 30": "6x8",
        "41.3 40 30": "4x8",
        "41.3 40 42": "4x16",
        "40 40 40": "6x8",
        "44 40 40, 22 20 20": "4x8",
        "44 40 40, 44 20 40, 40 40 40": "6x8",
        "42 40 45, 43 40 42": "4x8",
    }


def test_timing_tiles_ends_and_the_next_engine_begins_with_the_default(choices):
    assert set(choices["waits"][:-1]) <= {0, 8}
    assert choices["waits"][-1] == -1
    assert choices["chosen"] in range(len(TILES))
    rates = choices["rates"]
    assert min(rates) > 0 or (rates == [0, 0, 0] and choices["chosen"] == 1)
    assert choices["next"] == 1


def test_a_number_that_is_no_tile_changes_nothing(choices):
    assert choices["used"] == [0, 0, 0, 2]


def test_shared_scratch_that_does_not_hold_a_product_is_refused(native_library):
    found = run_module("tests.cpp.run_refusals", str(native_library))
    assert found.pop("as it was") == "taken"
    assert set(found.values()) == {"tg_load: status 3"}, found


@pytest.fixture(scope="module")
def nano_runs(native_library: Path) -> dict:
    """Return 20 steps of Nano: numpy, then 1, 2, 3 and again 2 threads."""
    return run_module(
        "tests.cpp.run_training", str(native_library), "Nano", "20", "1", "2", "3", "2"
    )


def test_training_is_bit_equal_for_any_number_of_threads_and_again(nano_runs):
    first, *others = nano_runs["engine"]
    assert len(first["losses"]) == 20
    assert [run == first for run in others] == [True, True, True]


def test_training_follows_numpy(nano_runs):
    got, wanted = nano_runs["engine"][0], nano_runs["numpy"]
    for series in ("losses", "norms"):
        assert got[series] == pytest.approx(wanted[series], rel=1e-5)
    assert got["losses"][-1] < got["losses"][0]


@pytest.mark.parametrize("name", ["Nano", "Small"])
def test_decoding_is_bit_equal_for_any_number_of_threads_and_near_a_window(
    native_library, name
):
    library = str(native_library)
    first, *others = run_module("tests.cpp.run_decode", library, name, "1", "2", "3")
    assert [run == first for run in others] == [True, True]
    assert first["error"] <= OPS["attention_cached_fwd"].tol.rel


def test_gelu_and_its_slope_keep_their_relative_errors_far_into_the_tail(
    native_library,
):
    # the fit of the tail is good to 5.2e-8; what is more is float32 rounding
    found = run_module("tests.cpp.run_gelu", str(native_library))
    assert found["y"]["error"] < 5e-7, found
    assert found["slope"]["error"] < 5e-7, found
    assert found["far_y"], "far out GELU is max(x, 0)"
    assert found["far_slope"], "far out its slope is 0 or 1"


def test_weights_drawn_inside_are_those_of_numpy_to_the_bit(native_library):
    found = run_module("tests.cpp.run_normals", str(native_library), str(THREADS))
    assert set(found.values()) == {0}, found
    assert len(found) > 1
