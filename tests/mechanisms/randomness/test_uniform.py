"""Integers are uniform to the last digit, at the price of a word drawn again now and then."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_ldp.mechanisms import RESOLUTION, SeededEntropy, uniform_integers
from stream_ldp.privacy.audit.chosen_words import ChosenWords, remainder_law


@pytest.mark.parametrize("size", [1, 2, 3, 7, 10, 64, 1000, 4096])
def test_all_remainders_are_equally_likely(size: int) -> None:
    law = remainder_law(
        lambda words: uniform_integers(np.full(len(words), size), entropy=ChosenWords(words.astype(np.int64)))
    )
    assert law == {value: (value, Fraction(1, size)) for value in range(size)}


def test_a_word_drawn_again_goes_to_the_user_it_was_drawn_for() -> None:
    """2^32 is 1 more than a multiple of 3 and 4 more than one of 6: of the sizes, the last word does for 2 alone."""
    sizes = np.array([2, 3, 6, 3])
    last = RESOLUTION - 1
    words = ChosenWords(np.array([last, last, last, 4]), np.array([last, 8]), np.array([5]))
    assert uniform_integers(sizes, entropy=words).tolist() == [1, 2, 2, 1]


@given(st.lists(st.one_of(st.integers(1, 40), st.just(RESOLUTION)), max_size=50), st.integers(0, 2**32))
def test_every_integer_is_within_its_range(sizes: list[int], seed: int) -> None:
    drawn = uniform_integers(np.array(sizes, dtype=np.int64), entropy=SeededEntropy(seed))
    assert drawn.dtype == np.int64
    assert len(drawn) == len(sizes)
    assert all(0 <= value < size for value, size in zip(drawn.tolist(), sizes, strict=True))


@pytest.mark.parametrize("size", [0, -1, RESOLUTION + 1])
def test_an_empty_or_too_large_range_is_refused(size: int) -> None:
    with pytest.raises(ValueError, match=f"1 to 2\\^32 integers, got sizes from {min(size, 5)} to {max(size, 5)}"):
        uniform_integers(np.array([5, size]), entropy=SeededEntropy(0))
