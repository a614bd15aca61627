"""The contiguous 90/10 split, at and around the smallest texts."""

import numpy as np
import pytest

from tabgrad.errors import CorpusError
from tabgrad.text.split import split_text


def tokens(n):
    return np.arange(n, dtype=np.uint32)


def test_nine_tenths_are_trained_on():
    text = split_text(tokens(1000), 64)
    assert text.n_train == 900
    assert text.n_train_windows == 900 - 64
    assert text.n_val_windows == 100 - 64


@pytest.mark.parametrize("n", [0, 1, 5, 64])
def test_a_text_shorter_than_a_window_is_refused_with_advice(n):
    with pytest.raises(CorpusError, match=f"{n} tokens; this preset needs at least 65"):
        split_text(tokens(n), 64)


def test_exactly_one_window_trains_without_validation():
    text = split_text(tokens(65), 64)
    assert (text.n_train_windows, text.n_val_windows) == (1, 0)


def test_a_small_held_out_part_grows_to_one_window():
    text = split_text(tokens(300), 64)
    assert (text.n_train, text.n_val_windows) == (235, 1)


def test_no_token_is_in_both_parts():
    for n in range(65, 400):
        text = split_text(tokens(n), 64)
        assert text.n_train_windows >= 1
        assert text.n_val_windows >= 0
        last_trained = text.n_train_windows - 1 + 64
        assert last_trained < text.n_train
