"""How sure a method is of a string: errors, chances, and the cut."""

from collections.abc import Sequence

import numpy as np
import pytest
from scipy.stats import binom

from stream_ldp.filtering.shrinkage import FrequencyPrior
from stream_ldp.strings.method import Supports, TriedStrings, select_reported

SYMBOLS = np.arange(4)[:, None]


def supports(counts: Sequence[float] | np.ndarray, reports: float = 1_000) -> Supports:
    return Supports(reports=reports, counts=np.array(counts, dtype=np.float64), one=0.5, zero=0.125)


def everything(width: float) -> FrequencyPrior:
    """FrequencyPrior of which all from 0 to the width are as likely."""
    return FrequencyPrior(widths=np.array([width]), weights=np.ones(1))


def test_frequencies_and_errors_are_those_of_a_pure_protocol() -> None:
    found = supports([500.0, 125.0])
    assert found.frequency.tolist() == [1.0, 0.0]
    assert found.standard_error[0] == pytest.approx(np.sqrt(0.25 / 1_000) / 0.375)
    assert found.standard_error[1] == pytest.approx(float(found.absent_error))


def test_the_chance_is_the_exact_tail_of_the_reports_that_support_a_string() -> None:
    found = supports([125.0, 180.0, 0.0])
    assert found.chance == pytest.approx([binom.sf(124, 1_000, 0.125), binom.sf(179, 1_000, 0.125), 1.0])


def test_a_string_is_reported_only_if_at_most_one_false_one_is_expected_to_look_so_frequent() -> None:
    found = supports([160.0, 190.0, 140.0, 155.0])
    prior = everything(0.9)
    few = select_reported(SYMBOLS, found, prior=prior, candidates=4, k=4)
    # 140 is 1.4 standard errors above 0.
    assert few.symbols.ravel().tolist() == [1, 0, 3]
    assert few.expected_false == pytest.approx(4 * found.chance[[1, 0, 3]])
    many = select_reported(SYMBOLS, found, prior=prior, candidates=10_000, k=4)
    assert many.symbols.ravel().tolist() == [1]
    assert select_reported(SYMBOLS, found, prior=prior, candidates=4, k=2).symbols.ravel().tolist() == [1, 0]


def test_strings_are_reported_with_what_is_known_of_their_shares_afterwards() -> None:
    found = supports([190.0, 180.0])
    few = select_reported(SYMBOLS[:2], found, prior=everything(0.05), candidates=4, k=4)
    drawn = everything(0.05).drawn(found.frequency, found.standard_error)
    assert (few.frequency < found.frequency).all()
    assert few.frequency.tolist() == drawn.mean.tolist()
    assert few.standard_error.tolist() == drawn.standard_error.tolist()
    assert few.expected_false == pytest.approx(4 * found.chance)


def test_a_string_that_is_tried_again_is_not_reported_if_all_of_it_may_be_luck() -> None:
    found, again = supports([190.0, 190.0, 190.0]), np.array([True, False, True])
    # Of thousands of strings, nearly all of which nobody has, one at 6 standard errors may well be one of them.
    rare = FrequencyPrior(widths=np.array([1e-6, 1.0]), weights=np.array([1.0 - 1e-8, 1e-8]))
    assert select_reported(
        SYMBOLS[:3], found, prior=rare, candidates=4, k=4, again=again
    ).symbols.ravel().tolist() == [1]
    every = select_reported(SYMBOLS[:3], found, prior=everything(0.9), candidates=4, k=4, again=again)
    assert sorted(every.symbols.ravel().tolist()) == [0, 1, 2]


def test_intervals_of_the_strings_that_look_most_frequent_of_many_hold_the_truth() -> None:
    """20 windows, 5,000 strings of which users have 100, and the 10 of each that look most frequent.

    Of 200 intervals, 180 hold the truth at the least; of as they look, 130 at the most.
    """
    truth = np.append(np.linspace(0.015, 0.0003, 100), np.zeros(4_900))
    rng = np.random.default_rng(3)
    covered: list[bool] = []
    as_they_look: list[bool] = []
    for _ in range(20):
        counts = rng.binomial(20_000, 0.125 + 0.375 * truth)
        every = supports(counts, reports=20_000)
        best = np.argsort(-counts)[:10]
        looks = every.taken(best)
        drawn = TriedStrings(best[:, None], looks, every).prior.drawn(looks.frequency, looks.standard_error)
        covered.extend(np.abs(drawn.mean - truth[best]) <= 1.96 * drawn.standard_error)
        as_they_look.extend(np.abs(looks.frequency - truth[best]) <= 1.96 * looks.standard_error)
    assert np.mean(covered) >= 0.9
    assert np.mean(as_they_look) <= 0.65


def test_windows_weigh_as_much_as_their_effective_reports() -> None:
    parts = [(1.0, 1_000, np.array([300])), (0.5, 1_000, np.array([200]))]
    found = Supports.of(parts, one=0.5, zero=0.125)
    assert found.reports == pytest.approx(1_500**2 / 1_250)
    assert found.counts[0] / found.reports == pytest.approx(400 / 1_500)
