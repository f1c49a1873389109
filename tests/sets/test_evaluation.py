"""Measures are of what is published against the users drawn, and a score sums up its own repeats alone."""

from __future__ import annotations

import numpy as np
import pytest

from stream_ldp.sets.evaluation import Measures, Trial, measures, scores, trials
from stream_ldp.sets.item_sets import ItemSets
from stream_ldp.sets.phases import RankingEstimate
from tests.sets.methods.examples import method

TRUTH = np.array([0.5, 0.1, 0.8, 0.0])


def test_measures_are_of_the_published_items_and_frequencies() -> None:
    estimate = RankingEstimate(
        items=np.array([2, 1, 3]), frequency=np.array([1.4, 0.3, -0.2]), standard_error=np.full(3, 0.1)
    )
    found = measures(estimate, TRUTH, k=2, seconds=3.0)
    # Item 2 is published with 1.0 at most; item 0 is no candidate, so it is not published and its estimate is 0.
    assert (found.ndcg, found.f1, found.seconds) == (0.5, 0.5, 3.0)
    assert found.re == pytest.approx((0.2 / 0.8 + 1.0) / 2)
    assert found.mse == pytest.approx((0.2**2 + 0.5**2) / 2)


def test_a_score_summarises_all_repeats_of_one_method_epsilon_and_k() -> None:
    def trial(ndcg: float, *, epsilon: float = 1.0, k: int = 2) -> Trial:
        found = Measures(ndcg=ndcg, re=2 * ndcg, f1=1.0, mse=0.0, coverage=1.0, seconds=ndcg)
        return Trial(method="svim", epsilon=epsilon, k=k, measures=found)

    first, second, third = scores([trial(0.25), trial(0.5, epsilon=2.0), trial(0.75), trial(0.5, k=3)])
    assert (first.epsilon, first.k, first.mean.ndcg, first.mean.re) == (1.0, 2, 0.5, 1.0)
    assert first.deviation.ndcg == pytest.approx(np.sqrt(0.125))
    assert first.deviation.f1 == 0.0
    assert (second.epsilon, second.mean.ndcg, second.deviation.ndcg) == (2.0, 0.5, 0.0)
    assert (third.k, third.mean.ndcg) == (3, 0.5)


def test_seconds_are_the_duration_of_the_epoch_by_the_given_clock() -> None:
    ticks = iter([1.0, 1.5, 7.0, 9.0])
    svim = method("svim", domain=3, k=1, epsilon=1.0)
    outcomes = trials(
        ItemSets.of([[0], [1, 2]]), methods=[(1.0, svim)], users=5, repeats=2, seed=0, clock=lambda: next(ticks)
    )
    assert [each.measures.seconds for each in outcomes] == [0.5, 2.0]
