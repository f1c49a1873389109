"""Tests of combining two estimates, as the papers say, item by item."""

import numpy as np
import pytest

from stream_ldp.mechanisms import DirectResponse
from stream_ldp.sets.methods.combination import (
    Combine,
    combined_estimate,
    drawn_together,
    first_candidates,
    most_frequent,
    phase_estimate,
)
from stream_ldp.sets.phases import Inquiry, RankingEstimate


def _estimate(items: list[int], frequency: list[float], error: list[float]) -> RankingEstimate:
    return RankingEstimate(items=np.array(items), frequency=np.array(frequency), standard_error=np.array(error))


BEFORE = _estimate([7, 3, 5], [0.5, 0.4, 0.3], [0.1, 0.2, 0.1])
NOW = _estimate([3, 7], [0.2, 0.9], [0.1, 0.2])


def test_the_papers_combination_weighs_the_earlier_estimate_one_part_in_l() -> None:
    both = combined_estimate(BEFORE, NOW, combine=Combine.PAPER, set_size=4)
    assert both.items.tolist() == [3, 7]
    assert both.frequency == pytest.approx([(0.4 + 3 * 0.2) / 4, (0.5 + 3 * 0.9) / 4])
    assert both.standard_error == pytest.approx([np.hypot(0.2 / 4, 0.1 * 3 / 4), np.hypot(0.1 / 4, 0.2 * 3 / 4)])


def test_combination_by_variance_gives_the_surer_estimate_more_weight() -> None:
    both = combined_estimate(BEFORE, NOW, combine=Combine.VARIANCE, set_size=4)
    # A doubt of a tenth of the earlier frequency, which larger sets may have lowered, takes some of its weight.
    assert both.frequency == pytest.approx([(0.4 + 4 * 0.2) / 5, (4 * 0.5 + 0.9) / 5], abs=0.02)
    # No two items tell how much larger sets have cost, so that it may be far more.
    assert (both.standard_error > np.sqrt(1 / 125)).all()


def test_an_estimate_without_reports_has_no_weight() -> None:
    nothing = _estimate([3, 7], [0.0, 0.0], [np.inf, np.inf])
    both = combined_estimate(nothing, NOW, combine=Combine.VARIANCE, set_size=4)
    assert (both.frequency.tolist(), both.standard_error.tolist()) == ([0.2, 0.9], [0.1, 0.2])


def test_estimates_that_are_all_below_0_are_combined_as_any_others() -> None:
    """Of two reports at a small epsilon, every frequency may be -250; the warning of an overflow fails this test."""
    low = _estimate([3, 7], [-250.0, -250.0], [300.0, 300.0])
    both = combined_estimate(low, low, combine=Combine.VARIANCE, set_size=4)
    assert both.frequency == pytest.approx([-250.0, -250.0])


@pytest.mark.parametrize("later", [0.5, 1.0, 2.0, 20.0])
def test_luck_in_the_choice_of_the_best_items_does_not_count(later: float) -> None:
    """The best 20 of 400 items that nobody holds, 100 times: their earlier estimates are far above 0, all of them.

    A mean of 20 z-scores is within 4.5 standard errors of 0 but for one seed in 150,000; 0.2 more is allowed, since
    frequencies that may not be below 0 are a little above it on average.
    """
    rng = np.random.default_rng(8)
    means, covered = [], []
    for _ in range(100):
        every = _estimate(list(range(400)), rng.normal(0.0, 1.0, 400).tolist(), [1.0] * 400)
        before = first_candidates(every, 20, set_size=4)
        now = _estimate(before.items.tolist(), rng.normal(0.0, later, 20).tolist(), [later] * 20)
        both = combined_estimate(before, now, combine=Combine.VARIANCE, set_size=4)
        assert both.standard_error.max() <= later + 0.3 * both.frequency.max()
        means.append(both.frequency.mean())
        covered.append(np.abs(both.frequency) <= 1.96 * both.standard_error)
    assert abs(np.mean(means)) < 4.5 * np.std(means) / 10 + 0.2
    assert np.mean(covered) > 0.9


def test_candidates_of_the_published_form_keep_their_estimates() -> None:
    every = _estimate(list(range(100)), np.linspace(-1.0, 2.0, 100).tolist(), [1.0] * 100)
    for published in ({"set_size": 4, "combine": Combine.PAPER}, {"set_size": None}):
        chosen = first_candidates(every, 2, **published)
        assert chosen.frequency.tolist() == [2.0, every.frequency[98]]
        assert chosen.drawn is (published["set_size"] is None)
    assert first_candidates(every, 2, set_size=4).frequency.max() < 2.0


def test_the_best_items_come_in_order_and_ties_go_to_the_lower_item() -> None:
    estimate = most_frequent(_estimate([9, 2, 4, 1], [0.1, 0.3, -0.2, 0.3], [0.1, 0.2, 0.3, 0.4]), 3)
    assert estimate.items.tolist() == [1, 2, 9]
    assert estimate.frequency.tolist() == [0.3, 0.3, 0.1]
    assert estimate.standard_error.tolist() == [0.4, 0.2, 0.1]


def test_a_phases_estimate_undoes_sampling_and_applies_the_correction() -> None:
    oracle = DirectResponse(size=2, dummies=3, epsilon=20.0)
    inquiry = Inquiry(phase=3, candidates=np.array([8, 6]), padding=3, correction=1.5)
    found = phase_estimate(inquiry, oracle, np.array([100, 50, 20, 20, 10]), reports=200)
    assert found.items.tolist() == [8, 6]
    assert found.frequency == pytest.approx([4.5 * 0.5, 4.5 * 0.25], rel=1e-6)
    assert found.standard_error == pytest.approx(
        [4.5 * np.sqrt(0.5 * 0.5 / 200), 4.5 * np.sqrt(0.25 * 0.75 / 200)], rel=1e-6
    )


def test_without_reports_every_frequency_is_0_with_infinite_error() -> None:
    oracle = DirectResponse(size=3, epsilon=1.0)
    found = phase_estimate(
        Inquiry(phase=1, candidates=None, padding=1), oracle, np.zeros(3, dtype=np.int64), reports=0
    )
    assert found.items.tolist() == [0, 1, 2]
    assert found.frequency.tolist() == [0.0] * 3
    assert found.standard_error.tolist() == [np.inf] * 3


def _estimates(truth: np.ndarray, error: float, *, seed: int) -> RankingEstimate:
    noise = np.random.default_rng(seed).normal(0.0, error, len(truth))
    return RankingEstimate(
        items=np.arange(len(truth)), frequency=truth + noise, standard_error=np.full(len(truth), error)
    )


@pytest.mark.parametrize("items", [500, 20_000])
def test_means_are_those_of_items_with_such_an_estimate_however_they_were_chosen(items: int) -> None:
    """Frequencies by Zipf's law, of which noise hides all but a few: the luck of the best is 2 errors and more.

    The mean error of 50 chosen items has a standard error below error / 7, so that 0.6 is 4 of them.
    """
    truth, error = 0.4 / np.arange(1, items + 1), 0.02
    every = _estimates(truth, error, seed=5)
    best = most_frequent(every, 50)
    means = drawn_together(best, every).frequency
    assert np.mean(best.frequency - truth[best.items]) > 1.2 * error
    assert abs(np.mean(means - truth[best.items])) < 0.6 * error


def test_an_item_that_stands_out_keeps_its_estimate() -> None:
    every = _estimates(np.array([0.8, 0.5] + [0.0] * 300), 0.01, seed=1)
    best = most_frequent(every, 2)
    assert drawn_together(best, every).frequency == pytest.approx(best.frequency, abs=0.005)


def test_what_is_drawn_away_is_half_believed() -> None:
    every = _estimates(np.zeros(300), 0.01, seed=2)
    best = most_frequent(every, 5)
    drawn = drawn_together(best, every)
    moved = best.frequency - drawn.frequency
    assert (moved > 0.01).all()
    assert drawn.standard_error == pytest.approx(np.hypot(0.01, 0.5 * moved))


def test_without_reports_nothing_is_drawn() -> None:
    nothing = RankingEstimate(items=np.arange(3), frequency=np.zeros(3), standard_error=np.full(3, np.inf))
    assert drawn_together(nothing, nothing) is nothing
