"""Philox 4x32-10, the one source of randomness; streams in `docs/randomness.md`.

Source: Salmon, Moraes, Dror, Shaw 2011, "Parallel random numbers: as easy as
1, 2, 3", with the multipliers and Weyl constants given there.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint32]

_MUL_0, _MUL_1 = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_WEYL_0, _WEYL_1 = 0x9E3779B9, 0xBB67AE85
_ROUNDS = 10
_LOW = np.uint64(0xFFFFFFFF)
_SHIFT = np.uint64(32)
_BLOCKS_AT_ONCE = 1 << 16  # keeps the work arrays of a large draw in cache


class Stream(IntEnum):
    """Counter word 3: what the numbers are for."""

    WEIGHTS = 1
    BATCHES = 2
    SAMPLING = 3


def philox_4x32(counter: Words, key: tuple[int, int]) -> Words:
    """Return the Philox 4x32-10 words of each counter.

    Args:
        counter: (n, 4) uint32, word 0 first.
        key: two 32-bit words.

    Returns:
        (n, 4) uint32.
    """
    c0, c1, c2, c3 = (counter[:, i].astype(np.uint64) for i in range(4))
    k0, k1 = key
    for _ in range(_ROUNDS):
        product_0, product_1 = c0 * _MUL_0, c2 * _MUL_1
        c0 = (product_1 >> _SHIFT) ^ c1 ^ np.uint64(k0)
        c1 = product_1 & _LOW
        c2 = (product_0 >> _SHIFT) ^ c3 ^ np.uint64(k1)
        c3 = product_0 & _LOW
        k0 = (k0 + _WEYL_0) & 0xFFFFFFFF
        k1 = (k1 + _WEYL_1) & 0xFFFFFFFF
    return np.stack([c0, c1, c2, c3], axis=1).astype(np.uint32)


def words(seed: int, stream: Stream, sub: int, start: int, count: int) -> Words:
    """Return `count` words of a stream from word `start` on.

    Word i is lane i % 4 of the block with counter (i // 4 low, i // 4 high, sub,
    stream) under the key (seed low, seed high).

    Args:
        seed: 0 <= seed < 2**64.
        stream: purpose of the numbers.
        sub: which sequence of that purpose: tensor number, step, token.
        start: first word.
        count: number of words.

    Returns:
        (count,) uint32.
    """
    first, last = start // 4, (start + count + 3) // 4
    blocks = np.arange(first, last, dtype=np.uint64)
    counter = np.empty((len(blocks), 4), np.uint32)
    counter[:, 0] = (blocks & _LOW).astype(np.uint32)
    counter[:, 1] = (blocks >> _SHIFT).astype(np.uint32)
    counter[:, 2] = sub
    counter[:, 3] = int(stream)
    flat = philox_4x32(counter, _key(seed)).reshape(-1)
    skip = start - 4 * first
    return flat[skip : skip + count]


def first_words(seed: int, stream: Stream, subs: range, count: int) -> Words:
    """Return words 0 to `count` of consecutive sub-streams, (len(subs), count).

    The same as `words` of each; drawn together because small draws cost most of
    their time in calls.
    """
    n_blocks = -(-count // 4)
    counter = np.zeros((len(subs), n_blocks, 4), np.uint32)
    counter[:, :, 0] = np.arange(n_blocks)
    counter[:, :, 2] = np.arange(subs.start, subs.stop)[:, None]
    counter[:, :, 3] = int(stream)
    flat = philox_4x32(counter.reshape(-1, 4), _key(seed))
    return flat.reshape(len(subs), -1)[:, :count]


def _key(seed: int) -> tuple[int, int]:
    return seed & 0xFFFFFFFF, seed >> 32 & 0xFFFFFFFF


def uniforms(seed: int, stream: Stream, sub: int, count: int) -> NDArray[np.float64]:
    """Return `count` float64 in [0, 1): word / 2**32."""
    return words(seed, stream, sub, 0, count).astype(np.float64) / 2.0**32


def normals(
    seed: int, stream: Stream, sub: int, start: int, count: int
) -> NDArray[np.float32]:
    """Return standard normals `start` to `start + count` of a stream, by Box-Muller.

    Normals 2j and 2j + 1 come from words 2j and 2j + 1, in float64:
    r = sqrt(-2 ln((w_2j + 1) / 2**32)), a = 2 pi w_2j+1 / 2**32; r cos a, r sin a;
    then rounded to float32.
    """
    out = np.empty(count, np.float32)
    step = 4 * _BLOCKS_AT_ONCE
    for low in range(0, count, step):
        size = min(step, count - low)
        out[low : low + size] = _normals(seed, stream, sub, start + low, size)
    return out


def _normals(
    seed: int, stream: Stream, sub: int, start: int, count: int
) -> NDArray[np.float64]:
    even = start - start % 2
    pairs = (start + count - even + 1) // 2
    w = words(seed, stream, sub, even, 2 * pairs).astype(np.float64).reshape(-1, 2)
    r = np.sqrt(-2.0 * np.log((w[:, 0] + 1.0) / 2.0**32))
    angle = 2.0 * np.pi * w[:, 1] / 2.0**32
    z = np.stack([r * np.cos(angle), r * np.sin(angle)], axis=1).reshape(-1)
    return z[start - even : start - even + count]
