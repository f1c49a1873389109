"""Tests of the metrics of the papers, against numbers worked out by hand."""

from __future__ import annotations

from math import log2

import numpy as np
import pytest
from numpy.typing import NDArray

from stream_ldp.sets.metrics import coverage, f1_score, mean_squared_error, ndcg, relative_error, top
from stream_ldp.sets.phases import RankingEstimate

#: Of 8 items; the true top 3 are items 2, 0 and 5.
TRUTH = np.array([0.5, 0.1, 0.8, 0.0, 0.2, 0.4, 0.1, 0.3])


def _published(*items: int) -> NDArray[np.int64]:
    return np.array(items, dtype=np.int64)


def test_coverage_is_of_the_published_items_alone() -> None:
    # Off by 0.1, 0.2 and 0.2; 1.96 errors are 0.102.
    estimate = RankingEstimate(
        items=np.array([2, 0, 7, 1]), frequency=np.array([0.7, 0.7, 0.5, 9.0]), standard_error=np.full(4, 0.052)
    )
    assert coverage(estimate, TRUTH, k=3) == pytest.approx(1 / 3)
    assert coverage(estimate, TRUTH, k=1) == 1.0


def test_of_equally_frequent_items_the_lower_one_comes_first() -> None:
    assert top(np.array([0.1, 0.3, 0.3, 0.1]), 3).tolist() == [1, 2, 0]


def test_ndcg_is_1_for_the_perfect_order_and_0_without_any_heavy_hitter() -> None:
    assert ndcg(_published(2, 0, 5), TRUTH, k=3) == 1.0
    assert ndcg(_published(1, 3, 4), TRUTH, k=3) == 0.0


def test_gain_falls_with_rank_distance_and_is_discounted_by_the_true_rank() -> None:
    # Item 2 is published third instead of first, item 0 second as it should, item 5 first instead of third.
    found = log2(8 - 2) + log2(8) / log2(2) + log2(8 - 2) / log2(3)
    ideal = log2(8) + log2(8) / log2(2) + log2(8) / log2(3)
    assert ndcg(_published(5, 0, 2), TRUTH, k=3) == pytest.approx(found / ideal)


def test_a_heavy_hitter_that_is_not_published_gains_nothing() -> None:
    # Item 0, of rank 2, is not there; the others are where they belong.
    ideal = log2(8) + log2(8) / log2(2) + log2(8) / log2(3)
    found = ideal - log2(8) / log2(2)
    assert ndcg(_published(2, 1, 5), TRUTH, k=3) == pytest.approx(found / ideal)


def test_the_relative_error_is_the_median_over_the_true_heavy_hitters() -> None:
    estimate = TRUTH.copy()
    estimate[[2, 0, 5]] = [0.8 * 1.5, 0.5 * 0.9, 0.4 * 1.2]
    estimate[7] = 99.0  # no heavy hitter
    assert relative_error(estimate, TRUTH, k=3) == pytest.approx(0.2)
    assert relative_error(estimate, TRUTH, k=2) == pytest.approx((0.5 + 0.1) / 2)


def test_items_that_nobody_holds_have_no_relative_error() -> None:
    truth = np.array([0.5, 0.0, 0.0])
    assert relative_error(np.array([0.25, 0.9, 0.9]), truth, k=3) == 0.5
    assert relative_error(np.ones(3), np.zeros(3), k=3) == 0.0


def test_f1_counts_both_missed_and_wrong_items() -> None:
    assert f1_score(_published(2, 0, 1), TRUTH, k=3) == pytest.approx(2 / 3)
    # Two of two are right, two of three are found: 2 * 1 * (2 / 3) / (1 + 2 / 3).
    assert f1_score(_published(2, 0), TRUTH, k=3) == pytest.approx(0.8)


def test_the_mean_squared_error_is_over_the_true_heavy_hitters_alone() -> None:
    estimate = TRUTH.copy()
    estimate[[2, 0]] += [0.1, -0.3]
    estimate[3] = 1.0  # no heavy hitter
    assert mean_squared_error(estimate, TRUTH, k=3) == pytest.approx((0.01 + 0.09) / 3)
