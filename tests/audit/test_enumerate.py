"""The enumerator: every way in which decisions may turn out comes once, with its exact probability."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_ldp.audit import enumerate as enumerator
from stream_ldp.audit.enumerate import UnknownDistribution, distribution, played
from stream_ldp.mechanisms import RESOLUTION, Entropy, GivenWords
from stream_ldp.mechanisms.randomness.entropy import WordEntropy


def test_a_decision_below_a_threshold_has_its_probability() -> None:
    outcomes = distribution(lambda entropy: tuple(entropy.below(np.array([1, 2**31])).tolist()))
    rare = Fraction(1, RESOLUTION)
    assert outcomes == {
        (True, True): rare / 2,
        (True, False): rare / 2,
        (False, True): (1 - rare) / 2,
        (False, False): (1 - rare) / 2,
    }


def test_what_is_certain_takes_no_decision() -> None:
    outcomes = distribution(lambda entropy: tuple(entropy.below(np.array([0, RESOLUTION])).tolist()))
    assert outcomes == {(False, True): 1}
    assert distribution(lambda entropy: int(entropy.shifts(np.array(RESOLUTION), np.array(3)))) == {0: 1}


def test_integers_are_uniform() -> None:
    outcomes = distribution(lambda entropy: tuple(entropy.integers(np.array([2, 3])).tolist()))
    assert outcomes == {(one, other): Fraction(1, 6) for one in range(2) for other in range(3)}


def test_a_shift_is_none_or_one_of_the_others() -> None:
    kept = 2**32 - 3 * 2**20
    outcomes = distribution(lambda entropy: int(entropy.shifts(np.array(kept), np.array(3))))
    assert outcomes == {0: Fraction(kept, RESOLUTION), **dict.fromkeys((1, 2, 3), Fraction(2**20, RESOLUTION))}


def test_a_choice_is_one_of_the_possible_outcomes() -> None:
    ends = np.array([[0, 2**30, 2**30, 2**32]])
    outcomes = distribution(lambda entropy: int(entropy.outcomes(ends)[0]))
    assert outcomes == {1: Fraction(1, 4), 3: Fraction(3, 4)}


def test_subsets_of_large_groups_are_uniform_and_small_groups_are_whole() -> None:
    outcomes = distribution(lambda entropy: tuple(entropy.subsets(np.array([1, 3]), 2).tolist()))
    assert outcomes == {(True, *(place != left_out for place in range(3))): Fraction(1, 3) for left_out in range(3)}


@given(st.lists(st.integers(1, 4), min_size=1, max_size=4))
def test_a_later_decision_may_depend_on_an_earlier_one(sizes: list[int]) -> None:
    """A walk that ends where it draws a 0: the probabilities of all walks add up to 1, each as it must be."""

    def walk(entropy: Entropy) -> tuple[int, ...]:
        drawn = []
        for size in sizes:
            drawn.append(int(entropy.integers(np.array([size]))[0]))
            if not drawn[-1]:
                break
        return tuple(drawn)

    outcomes = distribution(walk)
    assert sum(outcomes.values()) == 1
    for drawn, probability in outcomes.items():
        expected = Fraction(1)
        for size in sizes[: len(drawn)]:
            expected /= size
        assert probability == expected


def test_one_symbol_of_many_is_enumerated_by_itself() -> None:
    thresholds = np.full((1, 1000), 2**30)
    outcomes = distribution(lambda entropy: bool(entropy.below(thresholds)[0, 700]), only=range(700, 701))
    assert outcomes == {True: Fraction(1, 4), False: Fraction(3, 4)}


def test_raw_words_cannot_be_enumerated() -> None:
    with pytest.raises(UnknownDistribution, match="5 raw words are asked for"):
        distribution(lambda entropy: int(entropy.words(5)[0]))  # type: ignore[attr-defined]  # that is the point


def test_a_symbol_without_a_decision_of_its_own_is_reported() -> None:
    with pytest.raises(UnknownDistribution, match="2 decisions are taken, and none at place 2"):
        distribution(lambda entropy: bool(entropy.below(np.array([5, 6]))[0]), only=range(2, 3))


def test_too_many_ways_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(enumerator, "MAX_WAYS", 7)
    with pytest.raises(UnknownDistribution, match="more than 7 ways"):
        distribution(lambda entropy: tuple(entropy.below(np.full(3, 5)).tolist()))


def test_given_decisions_are_not_played() -> None:
    def drawn(entropy: Entropy) -> tuple[int, ...]:
        return tuple(entropy.integers(np.array([2**20, 2, 3])).tolist())

    outcomes = distribution(drawn, given=[2**20 + 7, 1])
    assert outcomes == {(7, 1, other): Fraction(1, 3) for other in range(3)}


def test_of_a_decision_with_too_many_outcomes_the_outer_ones_are_played() -> None:
    outcomes = distribution(lambda entropy: int(entropy.integers(np.array([10_000]))[0]), most=100)
    assert outcomes == dict.fromkeys((0, 1, 9_998, 9_999), Fraction(1, 10_000))


def test_the_words_that_are_played_decide_the_same_again() -> None:
    def decided(entropy: Entropy) -> tuple[int, ...]:
        first = entropy.below(np.array([2**30, 2**32 - 1])).tolist()
        shift = entropy.shifts(np.array([2**31]), np.array([2]))
        choice = entropy.outcomes(np.array([[2**30, 2**31, 2**32]]))
        return (*first, *entropy.integers(np.array([3])).tolist(), *shift.tolist(), *choice.tolist())

    for output, words in played(decided):
        assert decided(GivenWords(words)) == output


@pytest.mark.parametrize(
    ("decision", "broken"),
    [
        ("below", lambda self, thresholds: self.words(thresholds.size).reshape(thresholds.shape) <= thresholds),
        ("integers", lambda self, sizes: self.words(sizes.size).astype(np.int64) % sizes),
        ("shifts", lambda self, kept, others: (self.words(1) > kept) * others),
        ("outcomes", lambda self, ends: (self.words(len(ends))[:, None] > ends).sum(axis=1)),
        ("outcomes", lambda self, ends: (self.words(len(ends))[:, None] >= ends - 1).sum(axis=1)),
        ("_distinct_words", lambda self, group: (words := self.words(len(group)).astype(np.int64), np.sort(words))),
    ],
)
def test_a_decision_that_is_made_of_words_in_another_way_is_found(
    decision: str, broken: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(entropy: Entropy) -> tuple[int, ...]:
        match decision:
            case "below":
                return tuple(entropy.below(np.array([2**31])).tolist())
            case "integers":
                return tuple(entropy.integers(np.array([3])).tolist())
            case "shifts":
                return tuple(entropy.shifts(np.array([2**31]), np.array([2])).tolist())
            case "outcomes":
                return tuple(entropy.outcomes(np.array([[2**30, 2**31, 2**32]])).tolist())
            case _:
                return tuple(entropy.subsets(np.array([3]), 1).tolist())

    honest = distribution(run)
    if decision == "_distinct_words":
        # What is remembered of `subsets` does not show that a part of it has changed.
        enumerator._made.cache_clear()
    monkeypatch.setattr(WordEntropy, decision, broken)
    assert distribution(run) != honest
    enumerator._made.cache_clear()


def test_a_long_draw_that_is_not_used_counts_in_full_and_one_that_is_used_does_not() -> None:
    """A client that always draws another value, and keeps its own with the same chance, loses nothing by that."""

    def sent(entropy: Entropy, *, used: bool) -> int:
        kept = bool(entropy.below(np.array([RESOLUTION // 4]))[0])
        other = int(entropy.integers(np.array([100_000]))[0])
        return other if used or not kept else -1

    found = distribution(lambda entropy: sent(entropy, used=False), most=16)
    assert found[-1] == Fraction(1, 4)
    assert {found[other] for other in (0, 1, 99_998, 99_999)} == {Fraction(3, 400_000)}
    assert len(found) == 5
    assert set(distribution(lambda entropy: sent(entropy, used=True), most=16).values()) == {Fraction(1, 100_000)}
