"""What is known of numbers that were chosen as the best of many."""

import numpy as np
import pytest

from stream_ldp.filtering.shrinkage import DOUBT, FrequencyPrior


def test_intervals_of_the_best_of_many_hold_the_truth_where_those_of_their_estimates_do_not() -> None:
    """40 times 2,000 frequencies by Zipf's law, and the best 10 of each.

    Of 400 intervals of 95 %, as many as 340 hold the truth with a probability of 1e-14.
    """
    rng = np.random.default_rng(4)
    truth, error = 0.05 / np.arange(1, 2_001), np.full(2_000, 0.02)
    held: list[bool] = []
    estimates: list[bool] = []
    for _ in range(40):
        found = truth + rng.normal(0.0, error)
        best = np.argsort(-found)[:10]
        drawn = FrequencyPrior.learn(found, error).drawn(found[best], error[best])
        held.extend(np.abs(drawn.mean - truth[best]) <= 1.96 * drawn.standard_error)
        estimates.extend(np.abs(found[best] - truth[best]) <= 1.96 * error[best])
    assert np.mean(held) > 0.9
    assert np.mean(estimates) < 0.3


def test_mean_and_deviation_are_those_of_the_distribution_cut_off_at_both_ends() -> None:
    prior = FrequencyPrior(widths=np.array([0.1, 1.0]), weights=np.array([0.6, 0.4]))
    estimate, error = np.array([0.05, 0.15, 0.9, -0.1]), np.array([0.02, 0.1, 0.3, 0.04])
    drawn = prior.drawn(estimate, error)
    grid = (np.arange(200_000) + 0.5) / 200_000
    density = np.where(grid < 0.1, 0.6 / 0.1, 0.0) + 0.4
    for number in range(4):
        weights = density * np.exp(-0.5 * ((estimate[number] - grid) / error[number]) ** 2)
        mean = weights @ grid / weights.sum()
        assert drawn.mean[number] == pytest.approx(mean, rel=1e-4)
        deviation = np.sqrt(weights @ (grid - mean) ** 2 / weights.sum())
        assert drawn.standard_deviation[number] == pytest.approx(deviation, rel=1e-3)
    assert drawn.moved == pytest.approx(estimate - drawn.mean)
    assert drawn.standard_error == pytest.approx(np.hypot(drawn.standard_deviation, DOUBT * drawn.moved))


def test_estimates_far_below_0_and_far_beyond_all_others_have_finite_means() -> None:
    found, error = np.array([-50.0, 0.0, 0.5, 80.0]), np.full(4, 0.1)
    drawn = FrequencyPrior.learn(found, error).drawn(found, error)
    assert np.isfinite(drawn.mean).all()
    assert np.isfinite(drawn.standard_error).all()
    assert drawn.mean[0] == pytest.approx(0.0, abs=0.1)
    assert drawn.mean[3] == pytest.approx(80.0, abs=1.0)


@pytest.mark.parametrize(("estimate", "nearest"), [(-25.5, 0.0), (26.5, 1.0)])
def test_an_estimate_far_beyond_either_end_overflows_nowhere(estimate: float, nearest: float) -> None:
    """At 25 errors beyond, the rest of the normal distribution is rounded to 0, and its density is not."""
    drawn = FrequencyPrior(np.ones(1), np.ones(1)).drawn(np.array([estimate]), np.ones(1))
    assert drawn.mean == pytest.approx([nearest])
    assert drawn.standard_deviation == pytest.approx([0.0])


def test_more_estimates_than_bins_may_all_be_equal() -> None:
    """As those of 5,000 items are where no report supports any: that was a division by zero."""
    few, many = (FrequencyPrior.learn(np.full(n, -0.1), np.full(n, 0.1)) for n in (10, 5_000))
    np.testing.assert_allclose(many.weights, few.weights)


def test_where_there_are_no_estimates_all_shares_are_as_likely() -> None:
    nothing = np.zeros(0)
    drawn = FrequencyPrior.learn(nothing, nothing).drawn(np.array([0.5]), np.array([0.01]))
    assert drawn.mean == pytest.approx([0.5])
    assert drawn.standard_deviation == pytest.approx([0.01])
    assert FrequencyPrior.learn(nothing, nothing).drawn(nothing, nothing).mean.shape == (0,)
