"""Tests of what is known and said of sets that are larger than the padding."""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from stream_ldp.mechanisms import SeededEntropy
from stream_ldp.sets.evaluation import run_epoch
from stream_ldp.sets.methods.combination import Combine, combined_estimate, most_frequent
from stream_ldp.sets.methods.larger_sets import Losses, doubt_about, doubted, share_of, stretched
from stream_ldp.sets.phases import RankingEstimate
from tests.benchmarks.zipf_sets import long_tailed_sets
from tests.sets.methods.examples import method


def _estimate(frequency: NDArray[np.float64] | list[float], error: NDArray[np.float64] | float) -> RankingEstimate:
    values = np.asarray(frequency, dtype=np.float64)
    return RankingEstimate(
        items=np.arange(len(values)), frequency=values, standard_error=np.broadcast_to(error, values.shape)
    )


@pytest.mark.parametrize(
    ("kind", "epsilon"),
    # The loss of both forms of gfim is one function.
    [pytest.param("gfim", 4.0, marks=pytest.mark.long), ("gfim-users", 4.0), ("svim", 2.0), ("loloha", 4.0)],
)
def test_intervals_hold_the_truth_where_a_tenth_of_the_sets_is_larger_by_a_power_law(
    kind: str, epsilon: float
) -> None:
    """Seeded. Eight epochs of 50,000 users with 1 to 150 of 200 items, nine in ten of whom have no more than 17.

    Their items lose a tenth to a half. In an epoch, it is nearly the same for all of them, so that the mean of eight
    epochs, of nominally 0.95, has an error of 0.03 or so.
    """
    sets = long_tailed_sets(users=50_000, domain=200, max_size=150)
    truth = sets.frequencies(200)
    asked = method(kind, domain=200, k=32, epsilon=epsilon, set_size=17)
    held = []
    for seed in range(8):
        found = run_epoch(asked, sets, entropy=SeededEntropy(seed))
        off = np.abs(found.frequency[:32] - truth[found.items[:32]])
        held.append(np.mean(off <= 1.96 * found.standard_error[:32]))
    assert np.mean(held) >= 0.86


def test_what_large_sets_have_cost_an_earlier_estimate_is_made_good_by_the_later_one() -> None:
    """Seven tenths of every frequency were counted before. The mean of 20 frequencies has an error of 0.0025."""
    rng = np.random.default_rng(3)
    truth = np.linspace(0.2, 0.6, 20)
    before = _estimate(0.7 * truth + rng.normal(0.0, 0.01, 20), 0.01)
    now = _estimate(truth + rng.normal(0.0, 0.02, 20), 0.02)
    both = combined_estimate(before, now, combine=Combine.VARIANCE, set_size=4)
    assert np.mean(both.frequency) == pytest.approx(np.mean(truth), abs=5 * 0.0025 + 0.005)
    assert np.mean(np.abs(both.frequency - truth) <= 1.96 * both.standard_error) >= 0.9


def test_rare_items_have_lost_more_than_frequent_ones() -> None:
    """The rarest have lost half, and the most frequent a fifth; both phases show them all with errors of 1 %."""
    truth = np.geomspace(0.05, 0.5, 20)
    expected = 0.5 * (1.0 - 0.6 * truth / truth.max())
    losses = Losses.of(_estimate((1.0 - expected) * truth, 0.01 * truth), _estimate(truth, 0.01 * truth))
    assert losses.scaled().estimate.frequency == pytest.approx(truth, rel=0.1)


def test_without_clear_items_the_earlier_estimate_is_taken_as_it_is() -> None:
    before, now = _estimate([0.1, 0.1], 0.1), _estimate([0.3, 0.3], 0.1)
    both = combined_estimate(before, now, combine=Combine.VARIANCE, set_size=4)
    assert both.frequency == pytest.approx([0.2, 0.2], abs=0.001)


def test_without_clear_items_the_error_allows_for_far_more_than_is_usually_lost() -> None:
    """A tenth is usually lost; sets of 1 to 267 items by a power law lose up to a half."""
    truth = np.linspace(0.1, 0.3, 20)
    before = _estimate(0.7 * truth, 0.001)
    both = combined_estimate(before, _estimate(truth, 1.0), combine=Combine.VARIANCE, set_size=4)
    assert (np.abs(both.frequency - truth) <= 1.96 * both.standard_error).all()
    clear = combined_estimate(before, _estimate(0.7 * truth, 0.001), combine=Combine.VARIANCE, set_size=4)
    assert (clear.standard_error < 0.01).all()


def test_intervals_without_clear_items_keep_their_noise() -> None:
    """Of items of which sets have lost a half and noise has hidden the rest, 95 % intervals hold the truth."""
    truth, error = np.full(40, 0.07), 0.02
    left = 0.5 * truth + np.random.default_rng(2).normal(0.0, 0.6 * error, 40)
    # What was shrunk towards the others is less by another half of a standard error.
    before = _estimate(left - 0.5 * error, error)
    both = combined_estimate(before, _estimate(truth, 1.0), combine=Combine.VARIANCE, set_size=4, doubting=stretched)
    assert np.mean(np.abs(both.frequency - truth) <= 1.96 * both.standard_error) >= 0.9


def test_a_phase_without_reports_tells_nothing_of_the_loss() -> None:
    nothing = Losses.of(_estimate([0.0, 0.0], np.inf), _estimate([0.2, 0.9], 0.1))
    assert nothing.scaled().estimate.standard_error.tolist() == [np.inf, np.inf]


def test_a_doubt_reaches_what_is_as_likely_as_an_interval_says_and_an_item_that_loses_more_than_others() -> None:
    factors, equally = np.linspace(0.0, 1.0, 101), np.zeros(101)
    assert doubt_about(factors, equally, unlike=0.0) == pytest.approx(0.95 / 1.96, abs=0.01)
    assert doubt_about(factors, equally, unlike=0.5) == pytest.approx((0.95 + 1.645 * 0.25) / 1.96, abs=0.01)
    assert doubt_about(np.zeros(3), np.zeros(3), unlike=0.5) == 0.0


def test_the_share_of_candidates_is_that_of_all_frequencies_and_at_least_that_of_their_number() -> None:
    every = _estimate([0.4, 0.3, 0.2, 0.1], 0.01)
    assert share_of(most_frequent(every, 2), every) == pytest.approx(0.7)
    hidden = _estimate([-0.1, 0.0, 0.2, 0.1], 0.3)
    assert share_of(_estimate([-0.1], 0.3), hidden) == 0.25
    assert share_of(_estimate([0.0], 0.3), _estimate([0.0, -0.2], 0.3)) == 1.0


def test_of_items_that_nobody_holds_no_noise_is_stretched() -> None:
    found = stretched(_estimate([0.4, 0.0], 0.03), np.full(2, 0.1))
    assert found.noise == pytest.approx([0.03, 0.03])
    assert found.standard_error == pytest.approx([np.hypot(1.196 * 0.03, 0.04), 1.196 * 0.03])
    assert most_frequent(found, 1).noise == pytest.approx([0.03])


@pytest.mark.parametrize("with_doubt", [doubted, stretched])
def test_all_of_a_doubt_is_distinguished_from_noise(
    with_doubt: Callable[[RankingEstimate, NDArray[np.float64]], RankingEstimate],
) -> None:
    found = with_doubt(_estimate([0.4, -0.1], 0.03), np.full(2, 0.1))
    assert found.unseen is not None
    assert np.sqrt(found.standard_error**2 - found.unseen**2) == pytest.approx([0.03, 0.03])


def test_a_factor_in_doubt_adds_to_the_error_in_proportion_to_the_frequency() -> None:
    found = doubted(_estimate([0.4, -0.1], 0.03), 0.1)
    assert found.standard_error == pytest.approx([0.05, np.hypot(0.03, 0.01)])
    twice = doubted(found, 0.1)
    assert twice.unseen == pytest.approx(np.sqrt(2.0) * np.array([0.04, 0.01]))
