"""The estimate from the reports of a phase, and its combination with the one from the phase before."""

from __future__ import annotations

import math
from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from stream_ldp.mechanisms import frequencies, standard_errors
from stream_ldp.sets.methods.shrinkage import drawn_together
from stream_ldp.sets.phases import RankingEstimate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stream_ldp.mechanisms import FrequencyOracle
    from stream_ldp.sets.phases import Inquiry

__all__ = [
    "Combine",
    "Combined",
    "combined_estimate",
    "doubted",
    "first_candidates",
    "most_frequent",
    "phase_estimate",
]

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


class Combined(NamedTuple):
    """Two estimates in one.

    lost: share of a frequency that the earlier phase has not counted, as the later one shows.
    """

    estimate: RankingEstimate
    lost: float


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


def combined_estimate(before: RankingEstimate, now: RankingEstimate, *, combine: Combine, set_size: int) -> Combined:
    """Combine two estimates for the items of `now`, all of which must be among those of `before`.

    now: an estimate from at least one report.
    """
    before = _select(before, now.items)
    match combine:
        case Combine.PAPER:
            return Combined(_weighted(before, now, np.full(len(now.items), 1.0 / set_size)), lost=0.0)
        case Combine.VARIANCE:
            scaled = _on_the_scale_of(now, before)
            weight = 1.0 / (1.0 + (scaled.estimate.standard_error / now.standard_error) ** 2)
            both = _weighted(scaled.estimate, now, weight)
            return Combined(doubted(both, weight * scaled.doubt), lost=1.0 - scaled.part)


def doubted(estimate: RankingEstimate, doubt: NDArray[np.float64] | float) -> RankingEstimate:
    """Return an estimate whose frequencies may all be off by the same factor.

    doubt: standard deviation of that factor, perhaps of each item.
    """
    return replace(estimate, standard_error=np.hypot(estimate.standard_error, doubt * estimate.frequency))


def _weighted(before: RankingEstimate, now: RankingEstimate, weight: NDArray[np.float64]) -> RankingEstimate:
    """Compute the mean of two estimates of the same items, with `weight` for `before`."""
    # An infinite error has weight 0, but 0 times infinity is no number.
    error = np.where(weight > 0.0, before.standard_error, 0.0)
    return RankingEstimate(
        items=now.items,
        frequency=weight * before.frequency + (1.0 - weight) * now.frequency,
        standard_error=np.hypot(weight * error, (1.0 - weight) * now.standard_error),
    )


class _Scaled(NamedTuple):
    """An estimate on the scale of a later one.

    part: the part of every frequency that it had counted.
    doubt: about the factor, as far as the estimate's errors do not know of it.
    """

    estimate: RankingEstimate
    part: float
    doubt: float


def _on_the_scale_of(now: RankingEstimate, before: RankingEstimate) -> _Scaled:
    """Undo what sets larger than the padding have cost the estimate before, as far as the later one tells.

    Of the candidates, such a set holds fewer than of all items, so that a later phase counts its items in full. With
    the same part c of every frequency in `before`, the likelihood of c over all clear items, each with its likeliest
    frequency, is that of x - c y with variance s_x^2 + c^2 s_y^2 (Deming, 1943). The error grows by the doubt about c
    and by how much single items differ from it.

    What is usually lost makes the estimate. Where no item is clear it is all that is known, and far more may be lost:
    the doubt is that of a prior with the same scale and a long tail.
    """
    x, y, s_x, s_y = before.frequency, now.frequency, before.standard_error, now.standard_error
    if not (np.isfinite(s_x).all() and np.isfinite(s_y).all()):
        return _Scaled(before, part=1.0, doubt=0.0)
    weight = 1.0 / (1.0 + (s_x / s_y) ** 2)
    # Chosen by their mean, clear items are no likelier to be too high in one estimate than in the other.
    clear = weight * x + (1.0 - weight) * y > _CLEAR * np.hypot(s_x, s_y)
    x_clear, y_clear, s_x_clear, s_y_clear = (each[clear, None] for each in (x, y, s_x, s_y))
    squares = (x_clear - _PARTS * y_clear) ** 2 / (s_x_clear**2 + (_PARTS * s_y_clear) ** 2)
    likelihood, lost = -0.5 * squares.sum(axis=0), ((1.0 - _PARTS) / _USUALLY_LOST) ** 2
    part = float(_PARTS[int(np.argmax(likelihood - 0.5 * lost))])
    usual, unusual = likelihood - 0.5 * lost, likelihood - np.log1p(lost)  # Cauchy's distribution
    doubt = _mean(usual, (_PARTS - part) ** 2) + (_UNLIKE * (1.0 - part)) ** 2
    factors = np.log(_PARTS / part) ** 2
    return _Scaled(
        RankingEstimate(
            items=before.items,
            frequency=x / part,
            standard_error=np.sqrt(s_x**2 + doubt * np.maximum(x, 0.0) ** 2) / part,
        ),
        part=part,
        # It is the same for all items, and so no matter of their weights.
        doubt=math.sqrt(max(0.0, _mean(unusual, factors) - _mean(usual, factors))),
    )


def _mean(log_posterior: NDArray[np.float64], values: NDArray[np.float64]) -> float:
    """Compute the posterior mean of a value of each part."""
    likely = np.exp(log_posterior - log_posterior.max())
    return float(likely @ values / likely.sum())


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
