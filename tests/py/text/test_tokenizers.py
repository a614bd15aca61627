"""Byte and character tokenizers: round trips, unknown characters, broken input."""

import pytest

from tabgrad.errors import CorpusError
from tabgrad.text.tokenizers import ByteTokenizer, CharTokenizer, make_tokenizer


@pytest.mark.parametrize("text", ["", "abc", "Hé? 🙂\n", "\x00\x7f", "\ufeffbom"])
def test_bytes_go_round(text):
    tokenizer = ByteTokenizer()
    ids, unknown = tokenizer.encode(text)
    assert unknown == ""
    assert ids.max(initial=0) < tokenizer.vocab_size == 256
    assert tokenizer.decode(ids) == text


def test_a_lone_surrogate_becomes_a_replacement_character():
    tokenizer = ByteTokenizer()
    assert "\ufffd" in tokenizer.decode(tokenizer.encode("a\ud800b")[0])


def test_half_a_character_shows_as_a_replacement():
    tokenizer = ByteTokenizer()
    assert tokenizer.decode(tokenizer.encode("é")[0][:1]) == "\ufffd"


def test_characters_sort_by_code_point():
    # by UTF-16 unit the astral character would come before U+FB01
    tokenizer = CharTokenizer("🙂\ufb01ba")
    assert tokenizer.characters == "ab\ufb01🙂"
    ids, _ = tokenizer.encode("🙂a")
    assert ids.tolist() == [3, 0]
    assert tokenizer.decode(ids) == "🙂a"


def test_unknown_characters_are_dropped_and_named():
    ids, unknown = CharTokenizer("abcabc").encode("Hé? abba")
    assert unknown == " ?Hé"
    assert ids.tolist() == [0, 1, 1, 0]


def test_one_character_is_a_vocabulary():
    tokenizer = CharTokenizer("aaaa")
    assert tokenizer.vocab_size == 1
    assert tokenizer.encode("b")[0].size == 0


def test_no_text_is_refused():
    with pytest.raises(CorpusError, match="empty"):
        make_tokenizer("char", "")
    with pytest.raises(CorpusError, match="'bpe', wanted byte or char"):
        make_tokenizer("bpe", "a")
