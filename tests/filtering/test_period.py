"""The period of numbers that come again is found, and none where they do not."""

from collections.abc import Callable

import numpy as np
import pytest

from stream_ldp.filtering.period import period_of


def found(mean: Callable[[int], float], *, windows: int = 60, seed: int = 1, most: int = 20) -> int | None:
    """Of three numbers with standard errors of 0.01."""
    means = np.array([[mean(window), -mean(window), 0.5] for window in range(windows)])
    noise = np.random.default_rng(seed).normal(0, 0.01, means.shape)
    return period_of(means + noise, np.full(means.shape, 0.01), most=most)


@pytest.mark.parametrize("period", [2, 3, 7])
def test_the_period_of_windows_that_alternate_is_found(period: int) -> None:
    assert found(lambda window: 0.2 * (window % period < period / 2)) == period


def test_a_period_has_to_be_seen_three_times_and_be_short_enough() -> None:
    assert found(lambda window: 0.2 * (window % 7 < 3.5), windows=20) is None
    assert found(lambda window: 0.2 * (window % 7 < 3.5), most=6) is None
    assert found(lambda _: 0.2, windows=5) is None


@pytest.mark.parametrize(
    "mean",
    [lambda _: 0.2, lambda window: window / 300, lambda window: 0.2 * (window > 30)],
    ids=["still", "drift", "jump"],
)
def test_no_period_is_found_where_nothing_alternates(mean: Callable[[int], float]) -> None:
    """Of 100 seeds, chance finds one at most in streams whose windows are independent of each other."""
    assert sum(found(mean, seed=seed) is not None for seed in range(100)) <= 3
