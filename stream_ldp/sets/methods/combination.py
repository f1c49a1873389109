"""The estimate from the reports of a phase, and its combination with the one from the phase before."""

from __future__ import annotations

import math
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from stream_ldp.mechanisms import frequencies, standard_errors
from stream_ldp.sets.phases import RankingEstimate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stream_ldp.mechanisms import FrequencyOracle
    from stream_ldp.sets.phases import Inquiry

__all__ = ["Combine", "combined_estimate", "most_frequent", "phase_estimate"]


class Combine(StrEnum):
    """The way in which the estimates of two phases are combined."""

    PAPER = "paper"
    """The combined estimate is (before + (l - 1) now) / l, for sets of l items (Zhu, Yang and Bai, 2021, eq. 2)."""
    VARIANCE = "variance"
    """Each estimate has the inverse of its variance as weight; the bias by the selection of candidates is removed."""


def phase_estimate(
    inquiry: Inquiry, oracle: FrequencyOracle, sums: NDArray[np.int64], *, reports: int
) -> RankingEstimate:
    """Estimate the items asked about by a phase's reports alone; without any, errors are infinite."""
    items = np.arange(oracle.size) if inquiry.candidates is None else inquiry.candidates
    factor = inquiry.correction * oracle.scale(padding=inquiry.padding)
    frequency = frequencies(oracle, sums, reports=reports)
    error = standard_errors(oracle, frequency, reports=reports)
    return RankingEstimate(items=items, frequency=factor * frequency, standard_error=factor * error)


def combined_estimate(
    before: RankingEstimate, now: RankingEstimate, *, combine: Combine, set_size: int, pool: int
) -> RankingEstimate:
    """Combine two estimates for the items of `now`, all of which must be among those of `before`.

    now: an estimate from at least one report.
    pool: number of items from which those of `before` were selected as the best.
    """
    # The least frequency with which an item was selected; there is none if all items were.
    bar = float(before.frequency.min()) if len(before.items) < pool else -math.inf
    before = _select(before, now.items)
    match combine:
        case Combine.PAPER:
            return _weighted(before, now, np.full(len(now.items), 1.0 / set_size))
        case Combine.VARIANCE:
            return _without_selection_bias(before, now, bar=bar)


def _weighted(before: RankingEstimate, now: RankingEstimate, weight: NDArray[np.float64]) -> RankingEstimate:
    """Compute the mean of two estimates of the same items, with `weight` for `before`."""
    # An infinite error has weight 0, but 0 times infinity is no number.
    error = np.where(weight > 0.0, before.standard_error, 0.0)
    return RankingEstimate(
        items=now.items,
        frequency=weight * before.frequency + (1.0 - weight) * now.frequency,
        standard_error=np.hypot(weight * error, (1.0 - weight) * now.standard_error),
    )


def _without_selection_bias(before: RankingEstimate, now: RankingEstimate, *, bar: float) -> RankingEstimate:
    """Compute the mean of least variance, corrected for the bias by selection.

    The earlier estimate of an item that was selected because this estimate is above a bar is too high on average.
    Given the selection, and normal errors s1 before and s2 now, the unbiased estimate of least variance is
    z - m s2^2 / r, with z the inverse-variance mean, r^2 = s1^2 + s2^2, m = phi(w) / Phi(w) and
    w = (z - bar) r / s1^2 (Cohen and Sackrowitz, 1989; Bowden and Glimm, 2008); its variance is
    s2^2 - s2^4 / r^2 (1 - m (w + m)). Far above the bar that is the mean itself, far below it the later estimate
    alone.
    """
    # Imported here: a client never combines, and must not wait for the import of SciPy.
    from scipy.special import log_ndtr  # noqa: PLC0415

    old, new = before.standard_error**2, now.standard_error**2
    mean = _weighted(before, now, 1.0 / (1.0 + old / new))
    if not np.isfinite(old).all() or bar == -math.inf:
        return mean
    both = old + new
    w = (mean.frequency - bar) * np.sqrt(both) / old
    m = np.exp(-0.5 * w**2 - log_ndtr(w)) / math.sqrt(2.0 * math.pi)
    return RankingEstimate(
        items=now.items,
        frequency=mean.frequency - m * new / np.sqrt(both),
        standard_error=np.sqrt(new - new**2 / both * (1.0 - m * (w + m))),
    )


def most_frequent(estimate: RankingEstimate, count: int) -> RankingEstimate:
    """Select the `count` items of highest frequency, best first; of equal ones the lower item comes first."""
    order = np.lexsort((estimate.items, -estimate.frequency))[:count]
    return _take(estimate, order)


def _select(estimate: RankingEstimate, items: NDArray[np.int64]) -> RankingEstimate:
    """Select the estimates of these items, in this order."""
    order = np.argsort(estimate.items)
    return _take(estimate, order[np.searchsorted(estimate.items, items, sorter=order)])


def _take(estimate: RankingEstimate, places: NDArray[np.intp]) -> RankingEstimate:
    """Take the estimates at these places, in this order."""
    return RankingEstimate(
        items=estimate.items[places],
        frequency=estimate.frequency[places],
        standard_error=estimate.standard_error[places],
    )
