"""Distributions of numbers: nearer than EM with smoothing, with errors that cover."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from stream_ldp.marginals.distribution import FittedDistribution, fit_distribution
from stream_ldp.marginals.numbers import estimate_distribution
from stream_ldp.mechanisms.piecewise import square_wave
from stream_ldp.pipeline.curve import Curve
from tests.benchmarks.distributions import smoothed

POINTS = np.linspace(0, 1, 129)
BELL = np.exp(-0.5 * ((POINTS - 0.4) / 0.15) ** 2)
PEAK = 0.5 * BELL / BELL.sum() + 0.5 * (np.arange(129) == 30)


def counts_of(truth: NDArray[np.float64], *, users: int, epsilon: float, seed: int) -> NDArray[np.float64]:
    channel = square_wave(epsilon).channel
    return np.random.default_rng(seed).multinomial(users, truth / truth.sum() @ channel).astype(np.float64)


def fitted(counts: NDArray[np.float64], epsilon: float) -> FittedDistribution:
    return fit_distribution(square_wave(epsilon).channel, counts)


def curve_of(probability: NDArray[np.float64]) -> Curve:
    return Curve.of(POINTS.tolist(), (probability / probability.sum()).tolist(), [])


def wasserstein(found: Curve, truth: NDArray[np.float64]) -> float:
    grid, true = np.linspace(0, 1, 2_001), curve_of(truth)
    return float(np.abs(found.at(grid)[0] - true.at(grid)[0]).mean())


@pytest.mark.parametrize("truth", [BELL, PEAK], ids=["bell", "peak"])
def test_a_distribution_is_nearer_than_em_with_smoothing(truth: NDArray[np.float64]) -> None:
    """Of five seeds; the ratio is 0.71 for the bell, and far less for the peak."""
    found, published = [], []
    for seed in range(5):
        counts = counts_of(truth, users=50_000, epsilon=1.0, seed=seed)
        found.append(wasserstein(fitted(counts, 1.0).curve(0, 1), truth))
        published.append(wasserstein(curve_of(smoothed(square_wave(1.0).channel, counts)), truth))
    assert np.mean(found) < 0.85 * np.mean(published)


def test_intervals_of_ranges_cover() -> None:
    """Forty populations of 20,000 users each, 20 ranges: shares of 0.9 to 1 are within 0.06 of 0.95."""
    covered = []
    lows = np.linspace(0, 0.8, 20)
    for seed in range(40):
        curve = fitted(counts_of(BELL, users=20_000, epsilon=1.0, seed=seed), 1.0).curve(0, 1)
        true = curve_of(BELL)
        for low in lows.tolist():
            share, error = curve.share(low, low + 0.2)
            covered.append(abs(share - true.share(low, low + 0.2)[0]) < 1.96 * error)
    assert 0.89 <= np.mean(covered) <= 1.0


def test_probabilities_sum_to_1_and_their_errors_to_0() -> None:
    found = fitted(counts_of(PEAK, users=1_000, epsilon=2.0, seed=1), 2.0)
    assert found.probability.sum() == pytest.approx(1)
    assert found.covariance.sum(axis=1) == pytest.approx(0, abs=1e-12)
    assert np.linalg.eigvalsh(found.covariance).min() > -1e-12


@pytest.mark.parametrize("users", [1, 2, 5])
def test_a_few_users_show_a_wide_distribution(users: int) -> None:
    counts = np.zeros(square_wave(1.0).counters)
    counts[3] = users
    found = fitted(counts, 1.0)
    assert np.isfinite(found.covariance).all()
    assert found.probability.max() < 0.2


def test_the_errors_fall_as_reports_grow() -> None:
    channel = square_wave(1.0).channel
    expected = BELL / BELL.sum() @ channel
    small, large = (fit_distribution(channel, users * expected) for users in (10_000, 1_000_000))
    assert large.curve(0, 1).share(0, 0.4)[1] < 0.2 * small.curve(0, 1).share(0, 0.4)[1]


def test_a_number_that_many_share_is_a_peak_where_it_lies_between_points() -> None:
    """Of eight seeds, all are within half a step; without a search, ten points had the users of the peak."""
    place, away = 51.3, []
    for seed in range(8):
        truth = 0.6 * BELL / BELL.sum()
        truth[51:53] += 0.4 * np.array([0.7, 0.3])
        found = fitted(counts_of(truth, users=100_000, epsilon=0.5, seed=seed), 0.5)
        away.append(abs(128 * found.points[found.probability.argmax()] - place))
        assert found.curve(0, 128).share(49, 54)[0] == pytest.approx(0.45, abs=0.1)
    assert np.sum(np.array(away) < 0.75) >= 7


@pytest.mark.parametrize(("epsilon", "users", "share"), [(2.0, 10_000, 0.1), (0.5, 30_000, 0.2)])
def test_intervals_beside_a_peak_that_may_be_missed_cover(epsilon: float, users: int, share: float) -> None:
    """So many ages are 40, over 20 seeds; without what peaks may hide, ranges cover a third.

    0.83 are covered where a peak that is not clear is no part of the errors. Of the second case, it is 0.74 where
    roots of shares may fall to 0, which the climb cannot leave.
    """
    generator, wave = np.random.default_rng(5), square_wave(epsilon)
    ages = np.exp(-0.5 * ((np.arange(101) - 38) / 14) ** 2)
    ages *= (1 - share) / ages.sum()
    ages[40] += share
    places = np.linspace(0, 128, 101)
    answers = ages @ np.stack([np.interp(places, np.arange(129), each) for each in wave.channel.T], axis=1)
    lows, highs = np.array([[0, 20, 30, 35, 40, 40, 41, 41, 41], [39, 39, 39, 40, 40, 50, 45, 60, 100]], dtype=float)
    true = [ages[int(low) : int(high) + 1].sum() for low, high in zip(lows, highs, strict=True)]
    covered = []
    for _ in range(20):
        found = estimate_distribution(wave, generator.multinomial(users, answers).astype(np.float64), steps=100)
        assert found is not None
        shares, errors = found.curve(0, 100).shares(lows, highs)
        covered.append(np.abs(shares - true) < 1.96 * errors)
    assert np.mean(covered) > 0.85


def test_half_of_the_users_at_an_end_are_not_spread_over_a_cell() -> None:
    truth = 0.4 * BELL / BELL.sum() + 0.6 * (np.arange(129) == 0)
    assert fitted(counts_of(truth, users=100_000, epsilon=1.0, seed=0), 1.0).curve(0, 1).quantile(0.5) == 0.0


def test_a_smooth_distribution_has_no_peaks() -> None:
    for seed in range(5):
        found = fitted(counts_of(BELL, users=100_000, epsilon=2.0, seed=seed), 2.0)
        assert found.points == pytest.approx(POINTS)
        assert not found.exact.any()


def test_whole_numbers_are_estimated_over_whole_numbers_alone() -> None:
    """Ranges of 100,000 ages are covered, over 20 seeds; a grid of others covers two of three."""
    generator, wave = np.random.default_rng(3), square_wave(2.0)
    ages = np.exp(-0.5 * ((np.arange(101) - 38) / 14) ** 2) * (1 + (np.arange(101) % 10 == 0))
    ages /= ages.sum()
    places = np.linspace(0, 128, 101)
    answers = ages @ np.stack([np.interp(places, np.arange(129), each) for each in wave.channel.T], axis=1)
    covered, lows = [], np.arange(0, 90, 3).astype(float)
    for _ in range(20):
        found = estimate_distribution(wave, generator.multinomial(100_000, answers).astype(np.float64), steps=100)
        assert found is not None
        curve = found.curve(0, 100)
        shares, errors = curve.shares(lows, lows + 10)
        true = np.array([ages[int(low) : int(low) + 11].sum() for low in lows])
        covered.append(np.abs(shares - true) < 1.96 * errors)
        assert {curve.quantile(each) % 1 for each in (0.1, 0.5, 0.95)} == {0.0}
        assert found.numbers(0, 100).tolist() == list(range(101))
        assert curve.share(20, 30)[0] == pytest.approx(curve.share(19.5, 30.5)[0])
    assert 0.9 <= np.mean(covered) <= 0.99


def test_the_points_of_a_range_end_with_its_ends() -> None:
    found = fitted(counts_of(BELL, users=100, epsilon=1.0, seed=0), 1.0)
    assert found.numbers(0.1, 0.7)[[0, -1]].tolist() == [0.1, 0.7]
