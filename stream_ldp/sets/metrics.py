"""Measures of a published ranking against the users' true sets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stream_ldp.sets.phases import RankingEstimate


def top(frequency: NDArray[np.float64], k: int) -> NDArray[np.int64]:
    """Find the k most frequent items, best first, int64, shape (k,); of equal ones the lower item comes first."""
    return np.argsort(-frequency, kind="stable")[:k].astype(np.int64)


def ndcg(published: NDArray[np.int64], truth: NDArray[np.float64], *, k: int) -> float:
    """Compute the normalised discounted cumulative gain, in [0, 1] (Zhu, Yang and Bai, 2021, eqs. 10 to 12).

    The gain of a true heavy hitter is log2(d - |true rank - published rank|), 0 if it is not published; gains are
    discounted by log2 of the true rank (from rank 2) and divided by what the perfect order gains.

    published: items, best first, shape (k,).
    truth: frequency of each of the d >= 2 items, shape (d,).
    """
    domain = len(truth)
    published_rank = np.full(domain, -1)
    published_rank[published] = np.arange(len(published))
    estimated = published_rank[top(truth, k)]
    actual = np.arange(k)
    found = estimated >= 0
    gain = np.where(found, np.log2(domain - np.abs(actual - estimated), where=found, out=np.zeros(k)), 0.0)
    discount = np.log2(np.maximum(actual + 1, 2))
    return float(np.sum(gain / discount) / np.sum(np.log2(domain) / discount))


def relative_error(estimate: NDArray[np.float64], truth: NDArray[np.float64], *, k: int) -> float:
    """Compute the median over the true top k of |estimate - truth| / truth (Zhu, Yang and Bai, 2021, eq. 9).

    estimate, truth: frequency of each item, shape (d,). Items that nobody holds are left out; 0 if nobody holds any.
    """
    items = top(truth, k)
    items = items[truth[items] > 0.0]
    return float(np.median(np.abs(estimate[items] / truth[items] - 1.0))) if len(items) else 0.0


def f1_score(published: NDArray[np.int64], truth: NDArray[np.float64], *, k: int) -> float:
    """Compute the harmonic mean of precision and recall of the published items as the true top k, in [0, 1]."""
    return 2.0 * len(np.intersect1d(published, top(truth, k))) / (len(published) + k)


def coverage(estimate: RankingEstimate, truth: NDArray[np.float64], *, k: int) -> float:
    """Compute the part of the k best items whose estimate is within 1.96 standard errors of the truth, in [0, 1].

    truth: frequency of each item, shape (d,).
    """
    off = np.abs(estimate.frequency[:k] - truth[estimate.items[:k]])
    return float(np.mean(off <= 1.96 * estimate.standard_error[:k]))


def mean_squared_error(estimate: NDArray[np.float64], truth: NDArray[np.float64], *, k: int) -> float:
    """Compute the mean over the true top k of (estimate - truth)^2; both have shape (d,)."""
    items = top(truth, k)
    return float(np.mean((estimate[items] - truth[items]) ** 2))
