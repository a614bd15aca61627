"""Byte and character tokenizers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tabgrad.errors import CorpusError


class Tokenizer(Protocol):
    """Turns text into token ids and back."""

    @property
    def vocab_size(self) -> int:
        """V, the number of ids."""

    def encode(self, text: str) -> tuple[NDArray[np.uint32], str]:
        """Return ids, and the distinct characters left out because unknown."""

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of ids; broken UTF-8 shows as U+FFFD."""


@dataclass(frozen=True)
class ByteTokenizer:
    """One id per UTF-8 byte: V = 256, and nothing is unknown."""

    vocab_size: int = 256

    def encode(self, text: str) -> tuple[NDArray[np.uint32], str]:
        """Return the bytes as ids; lone surrogates become U+FFFD."""
        raw = text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
        return np.frombuffer(raw.encode(), np.uint8).astype(np.uint32), ""

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of bytes."""
        return bytes(int(i) for i in ids).decode("utf-8", "replace")


class CharTokenizer:
    """One id per character (Unicode scalar), in order of code point."""

    def __init__(self, characters: str) -> None:
        """Make the vocabulary of the distinct characters of a text.

        Raises:
            CorpusError: the text is empty.
        """
        self.characters = "".join(sorted(set(characters)))
        if not self.characters:
            raise CorpusError("the corpus is empty: add some text to train on")
        # code points, sorted: searchsorted finds the id of many at once
        self._points = np.array([ord(c) for c in self.characters], np.uint32)

    @property
    def vocab_size(self) -> int:
        """V, the number of distinct characters."""
        return len(self.characters)

    def encode(self, text: str) -> tuple[NDArray[np.uint32], str]:
        """Return ids; characters outside the vocabulary are dropped and named."""
        points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
        at = np.searchsorted(self._points, points).clip(max=self.vocab_size - 1)
        known = self._points[at] == points
        unknown = "".join(chr(p) for p in np.unique(points[~known]))
        return at[known].astype(np.uint32), unknown

    def decode(self, ids: Sequence[int]) -> str:
        """Return the characters of ids."""
        return "".join(self.characters[int(i)] for i in ids)


def make_tokenizer(kind: str, text: str) -> Tokenizer:
    """Return the tokenizer of a kind, "byte" or "char", for a text.

    Raises:
        CorpusError: the kind is neither, or the text is empty.
    """
    if kind == "byte":
        return ByteTokenizer()
    if kind == "char":
        return CharTokenizer(text)
    raise CorpusError(f"tokenizer: got {kind!r}, wanted byte or char")
