"""The estimate from the reports of a phase, and its combination with the one from the phase before."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from stream_ldp.mechanisms import frequencies, standard_errors
from stream_ldp.sets.methods.shrinkage import drawn_together
from stream_ldp.sets.phases import RankingEstimate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stream_ldp.mechanisms import FrequencyOracle
    from stream_ldp.sets.phases import Inquiry

__all__ = ["Combine", "combined_estimate", "first_candidates", "most_frequent", "phase_estimate"]

#: Parts of a frequency that an earlier phase may have counted; the rest is lost in sets larger than its padding.
_PARTS = np.linspace(0.05, 1.0, 191)
#: What is lost if nothing is seen of it: where sizes fall geometrically, nine sets in ten that are no larger than l
#: hold nine tenths of all that sets hold.
_USUALLY_LOST = 0.1
#: Standard errors of the difference of two estimates above which an item's frequency tells the part.
_CLEAR = 3.0
#: By how much an item's loss differs from the mean loss, as a share of it: with sizes of 1 to 267, losses of the top
#: ten were .18 to .45.
_UNLIKE = 0.5


class Combine(StrEnum):
    """The way in which the estimates of two phases are combined."""

    PAPER = "paper"
    """The combined estimate is (before + (l - 1) now) / l, for sets of l items (Zhu, Yang and Bai, 2021, eq. 2)."""
    VARIANCE = "variance"
    """Each estimate has the inverse of its variance as weight; luck in the choice of candidates does not count."""


def phase_estimate(
    inquiry: Inquiry, oracle: FrequencyOracle, sums: NDArray[np.int64], *, reports: int
) -> RankingEstimate:
    """Estimate the items asked about by a phase's reports alone; without any, errors are infinite."""
    items = np.arange(oracle.size) if inquiry.candidates is None else inquiry.candidates
    factor = inquiry.correction * oracle.scale(padding=inquiry.padding)
    frequency = frequencies(oracle, sums, reports=reports)
    error = standard_errors(oracle, frequency, reports=reports)
    return RankingEstimate(items=items, frequency=factor * frequency, standard_error=factor * error)


def first_candidates(every: RankingEstimate, count: int, *, combine: Combine) -> RankingEstimate:
    """Select the `count` most frequent of all items, as the later phases combine their estimates."""
    best = most_frequent(every, count)
    chosen = count < len(every.items)
    return drawn_together(best, every) if chosen and combine is Combine.VARIANCE else best


def combined_estimate(
    before: RankingEstimate, now: RankingEstimate, *, combine: Combine, set_size: int
) -> RankingEstimate:
    """Combine two estimates for the items of `now`, all of which must be among those of `before`.

    now: an estimate from at least one report.
    """
    before = _select(before, now.items)
    match combine:
        case Combine.PAPER:
            return _weighted(before, now, np.full(len(now.items), 1.0 / set_size))
        case Combine.VARIANCE:
            before = _on_the_scale_of(now, before)
            return _weighted(before, now, 1.0 / (1.0 + (before.standard_error / now.standard_error) ** 2))


def _weighted(before: RankingEstimate, now: RankingEstimate, weight: NDArray[np.float64]) -> RankingEstimate:
    """Compute the mean of two estimates of the same items, with `weight` for `before`."""
    # An infinite error has weight 0, but 0 times infinity is no number.
    error = np.where(weight > 0.0, before.standard_error, 0.0)
    return RankingEstimate(
        items=now.items,
        frequency=weight * before.frequency + (1.0 - weight) * now.frequency,
        standard_error=np.hypot(weight * error, (1.0 - weight) * now.standard_error),
    )


def _on_the_scale_of(now: RankingEstimate, before: RankingEstimate) -> RankingEstimate:
    """Undo what sets larger than the padding have cost the estimate before, as far as the later one tells.

    Of the candidates, such a set holds fewer than of all items, so that a later phase counts its items in full. With
    the same part c of every frequency in `before`, the likelihood of c over all clear items, each with its likeliest
    frequency, is that of x - c y with variance s_x^2 + c^2 s_y^2 (Deming, 1943). The error grows by the doubt about c
    and by how much single items differ from it.
    """
    x, y, s_x, s_y = before.frequency, now.frequency, before.standard_error, now.standard_error
    if not (np.isfinite(s_x).all() and np.isfinite(s_y).all()):
        return before
    weight = 1.0 / (1.0 + (s_x / s_y) ** 2)
    # Chosen by their mean, clear items are no likelier to be too high in one estimate than in the other.
    clear = weight * x + (1.0 - weight) * y > _CLEAR * np.hypot(s_x, s_y)
    x_clear, y_clear, s_x_clear, s_y_clear = (each[clear, None] for each in (x, y, s_x, s_y))
    squares = (x_clear - _PARTS * y_clear) ** 2 / (s_x_clear**2 + (_PARTS * s_y_clear) ** 2)
    log_posterior = -0.5 * (((1.0 - _PARTS) / _USUALLY_LOST) ** 2 + squares.sum(axis=0))
    best = int(np.argmax(log_posterior))
    likely = np.exp(log_posterior - log_posterior[best])
    part = float(_PARTS[best])
    doubt = float(likely @ (_PARTS - part) ** 2 / likely.sum() + (_UNLIKE * (1.0 - part)) ** 2)
    return RankingEstimate(
        items=before.items,
        frequency=x / part,
        standard_error=np.sqrt(s_x**2 + doubt * np.maximum(x, 0.0) ** 2) / part,
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
