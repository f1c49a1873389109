"""The search for a law finds it to the last word, and refuses what is decided in another way."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_ldp.mechanisms import RESOLUTION
from stream_ldp.privacy.audit.chosen_words import (
    ChosenWords,
    MoreWords,
    NotAThreshold,
    UnknownLaw,
    remainder_law,
    thresholds,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray


@settings(deadline=None)
@given(st.lists(st.one_of(st.sampled_from([1, RESOLUTION - 1, RESOLUTION]), st.integers(1, RESOLUTION)), min_size=1))
def test_a_threshold_is_found_exactly(given_: list[int]) -> None:
    counts = np.array(given_)
    assert thresholds(lambda words: words < counts, counts.shape).tolist() == given_


def test_a_decision_with_two_thresholds_is_refused() -> None:
    with pytest.raises(NotAThreshold, match="changes more than once"):
        thresholds(lambda words: (words > 2**30) & (words < 2**31), (1,))


@pytest.mark.parametrize(("period", "end"), [(1, RESOLUTION), (3, RESOLUTION - 1), (5, RESOLUTION), (4096, 2**31)])
def test_remainders_are_counted_exactly(period: int, end: int) -> None:
    """Of 2^32 words, one more has remainder 0 modulo 5 than remainder 1."""

    def decide(words: NDArray[np.int64]) -> NDArray[np.int64]:
        if np.any(words >= end):
            raise MoreWords
        return 10 + words % period

    assert remainder_law(decide) == {
        10 + remainder: (remainder, Fraction(len(range(remainder, end, period)), end)) for remainder in range(period)
    }


def test_remainders_with_the_same_outcome_are_added_up() -> None:
    assert remainder_law(lambda words: (words % 4 == 1).astype(np.int64)) == {
        0: (0, Fraction(3, 4)),
        1: (1, Fraction(1, 4)),
    }


@pytest.mark.parametrize(
    ("decide", "message"),
    [
        (lambda words: words, "does not repeat within 4096 words"),
        (lambda words: words >> 31, "repeats every 1 words at first, but not among all"),
        (lambda words: np.where(words > RESOLUTION - 2, 7, words % 3), "repeats every 3 words at first"),
    ],
)
def test_a_decision_that_is_not_by_remainder_is_refused(decide: object, message: str) -> None:
    with pytest.raises(UnknownLaw, match=message):
        remainder_law(decide)  # type: ignore[arg-type]


def test_decisions_that_share_a_word_are_refused() -> None:
    with pytest.raises(UnknownLaw, match="2 decisions ask for 1 words; each needs one of its own"):
        ChosenWords(np.array([1, 2])).words(1)
    entropy = ChosenWords(np.array([1, 2]), 7)
    assert entropy.words(2).tolist() == [1, 2]
    assert entropy.words(3).tolist() == [7, 7, 7]
    with pytest.raises(MoreWords, match="1 words are asked for after all"):
        entropy.words(1)
