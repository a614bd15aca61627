"""Philox against its published vectors, and the streams of docs/randomness.md."""

import numpy as np
import pytest

from tabgrad.philox import Stream, first_words, normals, philox_4x32, uniforms, words

# known answers of the authors' Random123 distribution: counter, key, output
VECTORS = [
    (
        (0, 0, 0, 0),
        (0, 0),
        (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8),
    ),
    (
        (0xFFFFFFFF,) * 4,
        (0xFFFFFFFF,) * 2,
        (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD),
    ),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]


@pytest.mark.parametrize(("counter", "key", "wanted"), VECTORS)
def test_published_vectors(counter, key, wanted):
    got = philox_4x32(np.array([counter], np.uint32), key)
    assert got[0].tolist() == list(wanted)


def test_word_is_lane_of_block():
    seed = 0x1234567_89ABCDEF
    got = words(seed, Stream.BATCHES, 7, 0, 8)
    counter = np.array([[0, 0, 7, 2], [1, 0, 7, 2]], np.uint32)
    key = (0x89ABCDEF, 0x1234567)
    assert got.tolist() == philox_4x32(counter, key).reshape(-1).tolist()


@pytest.mark.parametrize("start", [0, 1, 2, 3, 4, 5, 1023])
def test_draws_do_not_depend_on_what_was_drawn_before(start):
    whole = words(5, Stream.WEIGHTS, 1, 0, 1100)
    assert words(5, Stream.WEIGHTS, 1, start, 9).tolist() == (
        whole[start : start + 9].tolist()
    )
    z = normals(5, Stream.WEIGHTS, 1, 0, 1100)
    part = normals(5, Stream.WEIGHTS, 1, start, 9)
    assert part.tolist() == z[start : start + 9].tolist()


@pytest.mark.parametrize("count", [1, 3, 4, 5, 16])
def test_sub_streams_drawn_together_are_those_drawn_alone(count):
    together = first_words(2**40 + 3, Stream.BATCHES, range(5, 9), count)
    for row, sub in zip(together, range(5, 9), strict=True):
        alone = words(2**40 + 3, Stream.BATCHES, sub, 0, count)
        assert row.tolist() == alone.tolist()


def test_normals_are_box_muller_of_word_pairs():
    w = [int(x) for x in words(11, Stream.WEIGHTS, 3, 0, 4)]
    radius = np.sqrt(-2 * np.log((w[2] + 1) / 2**32))
    angle = 2 * np.pi * w[3] / 2**32
    got = normals(11, Stream.WEIGHTS, 3, 0, 4)
    assert got[2] == np.float32(radius * np.cos(angle))
    assert got[3] == np.float32(radius * np.sin(angle))


def test_a_large_draw_has_the_moments_of_a_normal():
    z = normals(1, Stream.WEIGHTS, 0, 0, 1_000_000).astype(np.float64)
    assert abs(z.mean()) < 0.004
    assert abs(z.std() - 1) < 0.003
    assert abs((z**4).mean() - 3) < 0.03


def test_uniforms_are_words_over_two_to_the_32():
    u = uniforms(9, Stream.SAMPLING, 2, 3)
    w = words(9, Stream.SAMPLING, 2, 0, 3)
    assert u.tolist() == [int(x) / 2**32 for x in w]


def test_streams_differ():
    draws = {
        tuple(words(seed, stream, sub, 0, 4).tolist())
        for seed in (0, 1, 1 << 32)
        for stream in Stream
        for sub in (0, 1)
    }
    assert len(draws) == 3 * len(Stream) * 2
