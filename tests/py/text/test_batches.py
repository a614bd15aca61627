"""Window starts: exact range, reproducible, and the gather that uses them."""

import numpy as np
import pytest

from tabgrad.ops.batch import batch_fwd
from tabgrad.philox import Stream, words
from tabgrad.text.batches import eval_offsets, train_offsets
from tabgrad.text.split import SplitText, split_text


def text_of(n, block_size):
    return split_text(np.arange(n, dtype=np.uint32), block_size)


@pytest.mark.parametrize("n_windows", [1, 2, 3, 7])
def test_every_legal_start_is_drawn_and_no_other(n_windows):
    text = SplitText(np.arange(8 + n_windows, dtype=np.uint32), 8 + n_windows, 8)
    seen = set(train_offsets(text, 1, range(200), 8).reshape(-1).tolist())
    assert seen == set(range(n_windows))


def test_starts_are_words_scaled():
    text = text_of(1000, 16)
    word = int(words(3, Stream.BATCHES, 5, 0, 4)[2])
    assert (
        train_offsets(text, 3, range(5, 6), 4)[0, 2]
        == word * text.n_train_windows >> 32
    )


def test_a_step_does_not_depend_on_other_steps():
    text = text_of(1000, 16)
    alone = train_offsets(text, 3, range(9, 10), 5)
    together = train_offsets(text, 3, range(3, 12), 5)
    assert together[6].tolist() == alone[0].tolist()


def test_targets_are_the_next_tokens_and_stay_inside():
    text = text_of(500, 16)
    offsets = np.array([[0, text.n_train_windows - 1]], np.uint32)
    index = np.zeros(1, np.uint32)
    ids, targets = batch_fwd(text.tokens, offsets, index, 32, 2)
    assert (targets == ids + 1).all()
    assert targets.max() == text.n_train - 1


def test_evaluation_spreads_over_the_held_out_part():
    text = text_of(2000, 16)
    rows = eval_offsets(text, 4, 5)
    assert rows.shape == (4, 5)
    assert rows[0, 0] == text.n_train
    assert rows[-1, -1] == len(text.tokens) - 17


def test_evaluation_with_one_window_repeats_it():
    text = text_of(300, 64)
    assert set(eval_offsets(text, 2, 3).reshape(-1).tolist()) == {text.n_train}
