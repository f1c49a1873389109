"""A subset response: the members that it draws, and how many of them are best."""

import math

import numpy as np
import pytest

from stream_ldp.errors import ParameterError
from stream_ldp.mechanisms import DirectResponse, GivenWords, OSEntropy, SeededEntropy, SubsetResponse


def noise(oracle: SubsetResponse | DirectResponse) -> float:
    p, q = oracle.support
    return (p * (1 - p) / oracle.size + (1 - 1 / oracle.size) * q * (1 - q)) / (p - q) ** 2


def test_a_subset_of_one_is_a_direct_response() -> None:
    subset, direct = SubsetResponse(size=9, epsilon=1.5, members=1), DirectResponse(size=9, epsilon=1.5)
    assert subset.support == direct.support
    assert subset.epsilon == direct.epsilon


@pytest.mark.parametrize("size", [2, 3, 16, 200])
@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 2.0, 4.0, 8.0])
def test_no_other_number_of_members_has_less_variance_than_those_offered(size: int, epsilon: float) -> None:
    offered = min(noise(each) for each in SubsetResponse.forms(size, epsilon=epsilon))
    every = min(noise(SubsetResponse(size=size, epsilon=epsilon, members=w)) for w in range(1, size))
    assert offered <= every * (1 + 1e-9)


def test_subset_selection_beats_a_direct_response_by_1_21() -> None:
    best = min(noise(each) for each in SubsetResponse.forms(16, epsilon=0.5))
    assert noise(DirectResponse(size=16, epsilon=0.5)) / best > 1.21


@pytest.mark.parametrize("value", range(7))
def test_a_report_has_exactly_w_members_whoever_sends_it(value: int) -> None:
    oracle = SubsetResponse(size=7, epsilon=1.0, members=3)
    rows = oracle.perturb(np.full(2_000, value), entropy=SeededEntropy(3))
    bits = np.unpackbits(rows, axis=1, count=7, bitorder="little")
    assert np.array_equal(bits.sum(axis=1), np.full(2_000, 3))
    assert bits.any(axis=0).all()


def test_rows_with_another_number_of_members_are_invalid() -> None:
    oracle = SubsetResponse(size=10, epsilon=1.0, members=2)
    rows = np.array(
        [[0b11, 0], [0b1, 0b10], [0, 0], [0b1, 0], [0b111, 0], [0b1, 0b100], [0xFF, 0b11]], dtype=np.uint8
    )
    assert oracle.valid(rows).tolist() == [True, True, False, False, False, False, False]


def test_a_report_is_made_of_the_documented_decisions() -> None:
    """Kept is above half of all words. Words 2^31, 1 and 0: the user's 4 is in; of the others, 1 and then 0."""
    oracle = SubsetResponse(size=6, epsilon=1.0, members=3)
    assert oracle.kept > 2**31
    row = oracle.perturb(np.array([4]), entropy=GivenWords(np.array([2**31, 1, 0], dtype=np.uint32)))
    assert row.tolist() == [[0b010011]]
    # Words 2^32 - 1, 2, 2 and 4: it is not in. Number 2; 2 is taken, so number 3; number 4, which is value 5.
    words = np.array([2**32 - 1, 2, 2, 4], dtype=np.uint32)
    assert oracle.perturb(np.array([4]), entropy=GivenWords(words)).tolist() == [[0b101100]]


@pytest.mark.parametrize(("size", "members"), [(1, 1), (5, 0), (5, 5), (2**12 + 1, 3)])
def test_impossible_subsets_are_refused(size: int, members: int) -> None:
    with pytest.raises(ParameterError):
        SubsetResponse(size=size, epsilon=1.0, members=members)


def test_a_dummy_is_refused() -> None:
    with pytest.raises(ValueError, match="beyond the 5 values"):
        SubsetResponse(size=5, epsilon=1.0, members=2).perturb(np.array([5]), entropy=OSEntropy())


def test_the_realised_loss_is_just_below_what_was_asked_for() -> None:
    oracle = SubsetResponse(size=16, epsilon=0.5, members=6)
    assert 0.5 - 1e-8 < oracle.epsilon <= 0.5
    assert oracle.epsilon == pytest.approx(math.log(oracle.kept * 10 / ((2**32 - oracle.kept) * 6)), abs=1e-12)
