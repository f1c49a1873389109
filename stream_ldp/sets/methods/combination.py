"""The estimate from the reports of a phase, and how it goes together with the one from before."""

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
    """How the estimates of two phases become one."""

    PAPER = "paper"
    """(before + (l - 1) now) / l, for sets of l items (Zhu, Yang and Bai, 2021, eq. 2)."""
    VARIANCE = "variance"
    """Each weighted by the inverse of its variance, less what the choice of candidates has added."""


def phase_estimate(
    inquiry: Inquiry, oracle: FrequencyOracle, sums: NDArray[np.int64], *, reports: int
) -> RankingEstimate:
    """The estimate by a phase's reports alone, of the items asked about; without any, errors are infinite."""
    items = np.arange(oracle.size) if inquiry.candidates is None else inquiry.candidates
    factor = inquiry.correction * oracle.scale(padding=inquiry.padding)
    frequency = frequencies(oracle, sums, reports=reports)
    error = standard_errors(oracle, frequency, reports=reports)
    return RankingEstimate(items=items, frequency=factor * frequency, standard_error=factor * error)


def combined_estimate(
    before: RankingEstimate, now: RankingEstimate, *, combine: Combine, set_size: int, chosen_from: int
) -> RankingEstimate:
    """The estimate that two make together, for the items of `now`, all of which were known before.

    now: of at least one report.
    chosen_from: number of items among which those of `before` were the best.
    """
    # The least that an item had to have to be asked about again; nothing was chosen where all were kept.
    bar = float(before.frequency.min()) if len(before.items) < chosen_from else -math.inf
    before = _matched(before, now.items)
    match combine:
        case Combine.PAPER:
            return _weighted(before, now, np.full(len(now.items), 1.0 / set_size))
        case Combine.VARIANCE:
            return _unselected(before, now, bar=bar)


def _weighted(before: RankingEstimate, now: RankingEstimate, weight: NDArray[np.float64]) -> RankingEstimate:
    # An infinite error has weight 0, but 0 times infinity is no number.
    error = np.where(weight > 0.0, before.standard_error, 0.0)
    return RankingEstimate(
        items=now.items,
        frequency=weight * before.frequency + (1.0 - weight) * now.frequency,
        standard_error=np.hypot(weight * error, (1.0 - weight) * now.standard_error),
    )


def _unselected(before: RankingEstimate, now: RankingEstimate, *, bar: float) -> RankingEstimate:
    """The mean of least variance, without what selection by the earlier estimate has added to it.

    Who is chosen for an estimate above a bar has been lucky on average. Given that, and normal errors s1 before and
    s2 now, the unbiased estimate of least variance is z - m s2^2 / r, with z the inverse-variance mean, r^2 = s1^2 +
    s2^2, m = phi(w) / Phi(w) and w = (z - bar) r / s1^2 (Cohen and Sackrowitz, 1989; Bowden and Glimm, 2008); its
    variance is s2^2 - s2^4 / r^2 (1 - m (w + m)). Far above the bar that is the mean itself, far below it the later
    estimate alone.
    """
    # Here and not above: a client never combines, and need not wait for the import of SciPy.
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
    """The `count` items of highest frequency, best first; of equal ones the lower item comes first."""
    order = np.lexsort((estimate.items, -estimate.frequency))[:count]
    return _chosen(estimate, order)


def _matched(estimate: RankingEstimate, items: NDArray[np.int64]) -> RankingEstimate:
    order = np.argsort(estimate.items)
    return _chosen(estimate, order[np.searchsorted(estimate.items, items, sorter=order)])


def _chosen(estimate: RankingEstimate, places: NDArray[np.intp]) -> RankingEstimate:
    return RankingEstimate(
        items=estimate.items[places],
        frequency=estimate.frequency[places],
        standard_error=estimate.standard_error[places],
    )
