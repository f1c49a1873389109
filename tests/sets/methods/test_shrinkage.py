"""Tests of drawing the best of many items to what all of them suggest."""

from __future__ import annotations

import numpy as np
import pytest

from stream_ldp.sets.methods.combination import most_frequent
from stream_ldp.sets.methods.shrinkage import drawn_together
from stream_ldp.sets.phases import RankingEstimate


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
