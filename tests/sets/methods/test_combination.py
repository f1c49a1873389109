"""Tests of combining two estimates, as the papers say, item by item."""

from __future__ import annotations

import numpy as np
import pytest

from stream_ldp.mechanisms import DirectResponse
from stream_ldp.sets.methods.combination import (
    Combine,
    combined_estimate,
    doubted,
    first_candidates,
    most_frequent,
    of_single_items,
    phase_estimate,
    stretched,
)
from stream_ldp.sets.phases import Inquiry, RankingEstimate


def _estimate(items: list[int], frequency: list[float], error: list[float]) -> RankingEstimate:
    return RankingEstimate(items=np.array(items), frequency=np.array(frequency), standard_error=np.array(error))


BEFORE = _estimate([7, 3, 5], [0.5, 0.4, 0.3], [0.1, 0.2, 0.1])
NOW = _estimate([3, 7], [0.2, 0.9], [0.1, 0.2])


def test_the_papers_combination_weighs_the_earlier_estimate_one_part_in_l() -> None:
    both, _ = combined_estimate(BEFORE, NOW, combine=Combine.PAPER, set_size=4)
    assert both.items.tolist() == [3, 7]
    assert both.frequency == pytest.approx([(0.4 + 3 * 0.2) / 4, (0.5 + 3 * 0.9) / 4])
    assert both.standard_error == pytest.approx([np.hypot(0.2 / 4, 0.1 * 3 / 4), np.hypot(0.1 / 4, 0.2 * 3 / 4)])


def test_combination_by_variance_gives_the_surer_estimate_more_weight() -> None:
    both, _ = combined_estimate(BEFORE, NOW, combine=Combine.VARIANCE, set_size=4)
    # A doubt of a tenth of the earlier frequency, which larger sets may have lowered, takes some of its weight.
    assert both.frequency == pytest.approx([(0.4 + 4 * 0.2) / 5, (4 * 0.5 + 0.9) / 5], abs=0.02)
    # No two items tell how much larger sets have cost, so that it may be far more.
    assert (both.standard_error > np.sqrt(1 / 125)).all()


def test_an_estimate_without_reports_has_no_weight() -> None:
    nothing = _estimate([3, 7], [0.0, 0.0], [np.inf, np.inf])
    both, _ = combined_estimate(nothing, NOW, combine=Combine.VARIANCE, set_size=4)
    assert (both.frequency.tolist(), both.standard_error.tolist()) == ([0.2, 0.9], [0.1, 0.2])


def test_estimates_that_are_all_below_0_are_combined_as_any_others() -> None:
    """Of two reports at a small epsilon, every frequency may be -250; the warning of an overflow fails this test."""
    low = _estimate([3, 7], [-250.0, -250.0], [300.0, 300.0])
    both, _ = combined_estimate(low, low, combine=Combine.VARIANCE, set_size=4)
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
        before = first_candidates(every, 20, combine=Combine.VARIANCE)
        now = _estimate(before.items.tolist(), rng.normal(0.0, later, 20).tolist(), [later] * 20)
        both, _ = combined_estimate(before, now, combine=Combine.VARIANCE, set_size=4)
        assert both.standard_error.max() <= later + 0.3 * both.frequency.max()
        means.append(both.frequency.mean())
        covered.append(np.abs(both.frequency) <= 1.96 * both.standard_error)
    assert abs(np.mean(means)) < 4.5 * np.std(means) / 10 + 0.2
    assert np.mean(covered) > 0.9


def test_candidates_of_the_published_form_keep_their_estimates() -> None:
    every = _estimate(list(range(100)), np.linspace(-1.0, 2.0, 100).tolist(), [1.0] * 100)
    assert first_candidates(every, 2, combine=Combine.PAPER).frequency.tolist() == [2.0, every.frequency[98]]
    assert first_candidates(every, 2, combine=Combine.VARIANCE).frequency.max() < 2.0


def test_what_large_sets_have_cost_an_earlier_estimate_is_made_good_by_the_later_one() -> None:
    """Seven tenths of every frequency were counted before. The mean of 20 frequencies has an error of 0.0025."""
    rng = np.random.default_rng(3)
    truth = np.linspace(0.2, 0.6, 20)
    items = list(range(20))
    before = _estimate(items, (0.7 * truth + rng.normal(0.0, 0.01, 20)).tolist(), [0.01] * 20)
    now = _estimate(items, (truth + rng.normal(0.0, 0.02, 20)).tolist(), [0.02] * 20)
    both, lost = combined_estimate(before, now, combine=Combine.VARIANCE, set_size=4)
    assert lost == pytest.approx(0.3, abs=0.05)
    assert np.mean(both.frequency) == pytest.approx(np.mean(truth), abs=5 * 0.0025 + 0.005)
    assert np.mean(np.abs(both.frequency - truth) <= 1.96 * both.standard_error) >= 0.9


def test_what_may_be_lost_is_no_less_where_noise_hides_a_part_of_it() -> None:
    """A quarter is lost, and items have errors of 15 %: what is usually lost, a tenth, is no more than a guess."""
    rng, truth = np.random.default_rng(5), np.full(10, 0.1)
    error, found = 0.15 * truth, []
    for _ in range(20):
        before = _estimate(list(range(10)), (0.75 * truth + rng.normal(0.0, error)).tolist(), error.tolist())
        now = _estimate(list(range(10)), (truth + rng.normal(0.0, error)).tolist(), error.tolist())
        _, lost = combined_estimate(before, now, combine=Combine.VARIANCE, set_size=4)
        found.append(lost)
    # The median of 20 draws whose losses look like 0.25 +- 0.07 is off by 0.02.
    assert np.median(found) == pytest.approx(0.25, abs=0.05)


def test_rare_items_have_lost_more_than_frequent_ones() -> None:
    """The rarest have lost half, and the most frequent a fifth; both phases show them all with errors of 1 %."""
    truth = np.geomspace(0.05, 0.5, 20)
    items, expected = list(range(20)), 0.5 * (1.0 - 0.6 * truth / truth.max())
    before = _estimate(items, ((1.0 - expected) * truth).tolist(), (0.01 * truth).tolist())
    now = _estimate(items, truth.tolist(), (0.01 * truth).tolist())
    both, lost = combined_estimate(before, now, combine=Combine.VARIANCE, set_size=4)
    assert lost == pytest.approx(expected, abs=0.05)
    assert both.frequency == pytest.approx(truth, rel=0.01)


def test_single_items_lose_more_or_less_than_the_mean_by_half_of_it() -> None:
    assert of_single_items(np.array([0.0, 0.4])) == pytest.approx([0.0, np.hypot(0.4, 0.2)])


def test_without_clear_items_the_earlier_estimate_is_taken_as_it_is() -> None:
    before, now = _estimate([1, 2], [0.1, 0.1], [0.1, 0.1]), _estimate([1, 2], [0.3, 0.3], [0.1, 0.1])
    both, _ = combined_estimate(before, now, combine=Combine.VARIANCE, set_size=4)
    assert both.frequency == pytest.approx([0.2, 0.2], abs=0.001)


def test_without_clear_items_the_error_allows_for_far_more_than_is_usually_lost() -> None:
    """A tenth is usually lost; sets of 1 to 267 items by a power law lose up to a half."""
    items, truth = list(range(20)), np.linspace(0.1, 0.3, 20)
    before = _estimate(items, (0.7 * truth).tolist(), [0.001] * 20)
    both, lost = combined_estimate(
        before, _estimate(items, truth.tolist(), [1.0] * 20), combine=Combine.VARIANCE, set_size=4
    )
    assert (lost > 0.1).all()
    assert (np.abs(both.frequency - truth) <= 1.96 * both.standard_error).all()
    clear, _ = combined_estimate(
        before, _estimate(items, (0.7 * truth).tolist(), [0.001] * 20), combine=Combine.VARIANCE, set_size=4
    )
    assert (clear.standard_error < 0.01).all()


def test_without_clear_items_what_was_drawn_to_nearly_nothing_may_be_as_frequent_as_its_noise_says() -> None:
    """Of items of which sets have lost a half and noise has hidden the rest, 95 % intervals hold the truth."""
    items, truth, error = list(range(40)), np.full(40, 0.07), 0.02
    left = 0.5 * truth + np.random.default_rng(2).normal(0.0, 0.6 * error, 40)
    # What was drawn to the others is less by another half of a standard error.
    before = _estimate(items, (left - 0.5 * error).tolist(), [error] * 40)
    both, _ = combined_estimate(
        before,
        _estimate(items, truth.tolist(), [1.0] * 40),
        combine=Combine.VARIANCE,
        set_size=4,
        doubting=stretched,
    )
    assert np.mean(np.abs(both.frequency - truth) <= 1.96 * both.standard_error) >= 0.9


def test_of_items_that_nobody_holds_no_noise_is_stretched() -> None:
    found = stretched(_estimate([1, 2], [0.4, 0.0], [0.03, 0.03]), np.full(2, 0.1))
    assert found.noise == pytest.approx([0.03, 0.03])
    assert found.standard_error == pytest.approx([np.hypot(1.196 * 0.03, 0.04), 1.196 * 0.03])
    assert most_frequent(found, 1).noise == pytest.approx([0.03])


def test_a_factor_in_doubt_adds_to_the_error_in_proportion_to_the_frequency() -> None:
    found = doubted(_estimate([1, 2], [0.4, -0.1], [0.03, 0.03]), 0.1)
    assert found.standard_error == pytest.approx([0.05, np.hypot(0.03, 0.01)])


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
