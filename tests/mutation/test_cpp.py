"""Errors planted in the C++ kernels: the op tests catch every one. Takes minutes."""

import pytest

from tests.mutation import on_cpp


@pytest.mark.full
def test_no_error_planted_in_a_kernel_goes_unseen():
    assert on_cpp.main() == 0
