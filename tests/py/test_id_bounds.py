"""Indices are checked on the host: a device reads something else in silence."""

import numpy as np
import pytest

from tabgrad.backends.id_bounds import check_ids, id_bounds
from tabgrad.errors import BackendError
from tabgrad.plan import build_plan
from tabgrad.presets import preset


def test_bounds_of_a_run_are_vocabulary_and_last_window() -> None:
    bounds = id_bounds(build_plan(preset("Nano"), 1000))
    assert bounds["io.corpus"] == bounds["io.prompt"] == 256
    assert bounds["io.offsets"] == 1000 - 16  # the last window needs 17 tokens


@pytest.mark.parametrize("value", [5, -1])
def test_index_out_of_range_is_refused_with_advice(value: int) -> None:
    ids = np.array([0, value])
    with pytest.raises(BackendError, match=rf"x: got the index {value}, wanted 0 to 4"):
        check_ids({"x": 5}, "x", ids)


def test_indices_in_range_and_other_tensors_pass() -> None:
    check_ids({"x": 5}, "x", np.array([0, 4], np.uint32))
    check_ids({"x": 5}, "y", np.array([9], np.uint32))
    check_ids({"x": 5}, "x", np.array([], np.uint32))
