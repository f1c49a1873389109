"""Tests of lanes: words that are compared bit by bit decide as whole ones do."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from stream_ldp.mechanisms import RESOLUTION
from stream_ldp.mechanisms.randomness import lanes

thresholds = st.one_of(
    st.sampled_from([0, 1, 2**31, 2**32 - 1, 2**32]),
    st.integers(0, 2**32),
    st.integers(0, 2**8).map(lambda high: high << 24),
)


INTEGERS = 5


def repeated(words: NDArray[np.uint32]) -> Callable[[int], NDArray[np.uint64]]:
    """Draw, bit by bit from the highest, these 64 words in the lanes of every integer.

    Every integer sees the same words, so that it does not matter which integers are left. The first call draws
    several bits for `INTEGERS` integers, and every other call one bit for those that are left.
    """
    bits = ((words[None, :] >> np.arange(31, -1, -1, dtype=np.uint32)[:, None]) & np.uint32(1)).astype(np.uint8)
    integers = np.packbits(bits, axis=1, bitorder="little").view("<u8")[:, 0]
    taken: list[int] = []

    def draw(n: int) -> NDArray[np.uint64]:
        begin, count = (0, n // INTEGERS) if not taken else (sum(taken), 1)
        taken.append(count)
        return np.repeat(integers[begin : begin + count], n // count if count else 0)

    return draw


@given(st.data(), thresholds, thresholds)
def test_lanes_are_true_where_their_words_are_below_the_thresholds_of_their_states(
    data: st.DataObject, zero: int, one: int
) -> None:
    near = [word for each in (zero, one) for word in (each - 1, each) if word >> 32 == 0]
    word = st.one_of(st.integers(0, 2**32 - 1), st.sampled_from(near))
    words = np.array(data.draw(st.lists(word, min_size=64, max_size=64)), dtype=np.uint32)
    states = np.random.default_rng(data.draw(st.integers(0, 99))).random((INTEGERS, 64)) < 0.5
    found = lanes.responses(states, zero=zero, one=one, draw=repeated(words))
    np.testing.assert_array_equal(found, words < np.where(states, one, zero))


@pytest.mark.parametrize("size", [0, 1, 7, 8, 65, 3 * 2**20 + 3])
def test_any_number_of_decisions_is_taken_in_any_shape(size: int) -> None:
    """Six standard deviations, which chance exceeds once in 10^8 runs."""
    draw = np.random.PCG64(1).random_raw
    states = np.arange(size).reshape(1, size) % 2 == 0
    one = round(0.3 * RESOLUTION)
    found = lanes.responses(states, zero=0, one=one, draw=draw)
    assert found.shape == states.shape
    assert not found[~states].any()
    if size > 100:
        share, number = found[states].mean(), np.count_nonzero(states)
        assert abs(share - 0.3) < 6 * math.sqrt(0.3 * 0.7 / number)


def test_neighbouring_decisions_are_independent() -> None:
    """Pairs at every distance up to 130 lanes, which spans integers; six standard deviations of their number."""
    found = lanes.responses(
        np.zeros(2**18, dtype=np.bool_), zero=round(0.3 * RESOLUTION), one=0, draw=np.random.PCG64(2).random_raw
    )
    centred = found - 0.3
    for distance in range(1, 131):
        correlation = float(centred[:-distance] @ centred[distance:]) / (0.3 * 0.7 * len(found))
        assert abs(correlation) < 6 / math.sqrt(len(found))


def test_a_probability_of_few_bits_takes_few_random_bits() -> None:
    drawn: list[int] = []

    def draw(n: int) -> NDArray[np.uint64]:
        drawn.append(n)
        return np.zeros(n, dtype=np.uint64)

    lanes.responses(np.zeros(64 * 1_000, dtype=np.bool_), zero=RESOLUTION // 8, one=RESOLUTION // 8, draw=draw)
    assert drawn == [3 * 1_000]
    drawn.clear()
    lanes.responses(np.zeros(64 * 1_000, dtype=np.bool_), zero=0, one=RESOLUTION, draw=draw)
    assert sum(drawn) == 0
