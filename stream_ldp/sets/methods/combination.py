"""The estimate from the reports of a phase, and its combination with the one from the phase before."""

from collections.abc import Callable
from dataclasses import replace
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from stream_ldp.filtering.shrinkage import DOUBT, FrequencyPrior
from stream_ldp.mechanisms import FrequencyOracle
from stream_ldp.sets.methods.larger_sets import Losses, doubted
from stream_ldp.sets.phases import Inquiry, RankingEstimate


class Combine(StrEnum):
    """The way in which the estimates of two phases are combined."""

    PAPER = "paper"
    """The combined estimate is (before + (l - 1) now) / l, for sets of l items (Zhu, Yang and Bai, 2021, eq. 2)."""
    VARIANCE = "variance"
    """Each estimate has the inverse of its variance as weight; selection bias is not corrected."""


def phase_estimate(
    inquiry: Inquiry, oracle: FrequencyOracle, sums: NDArray[np.int64], *, reports: int
) -> RankingEstimate:
    """Estimate the items asked about by a phase's reports alone; without any, errors are infinite."""
    items = np.arange(oracle.size) if inquiry.candidates is None else inquiry.candidates
    factor = inquiry.correction * oracle.scale(padding=inquiry.padding)
    frequency = oracle.estimate(sums, reports=reports)
    error = oracle.standard_errors(frequency, reports=reports)
    return as_asked(
        RankingEstimate(items=items, frequency=factor * frequency, standard_error=factor * error), inquiry
    )


def as_asked(estimate: RankingEstimate, inquiry: Inquiry) -> RankingEstimate:
    """Turn shares of users who hold items into shares as an inquiry asks for them, of who lacks them, and back."""
    return replace(estimate, frequency=1.0 - estimate.frequency) if inquiry.missing else estimate


def drawn_together(chosen: RankingEstimate, every: RankingEstimate) -> RankingEstimate:
    """Return estimates of chosen items, shrunk towards what all items suggest; see `FrequencyPrior`.

    The errors are those of the estimates, and grow: the later phase, whose reports played no part in the choice, then
    counts for more.

    chosen: the estimates of the best items.
    every: those of all the items from which they were chosen, with the same reports.
    """
    if not np.isfinite(every.standard_error).all() or not every.standard_error.all():
        return chosen
    known = FrequencyPrior.learn(every.frequency, every.standard_error)
    drawn = known.drawn(chosen.frequency, chosen.standard_error)
    error = np.hypot(chosen.standard_error, DOUBT * drawn.moved)
    return replace(chosen, frequency=drawn.mean, standard_error=error)


def first_candidates(
    every: RankingEstimate, count: int, *, set_size: int | None, combine: Combine = Combine.VARIANCE
) -> RankingEstimate:
    """Select the `count` most frequent of all items, as the later phases combine their estimates.

    set_size: that the reports were made for; None if it is not known, and no later phase combines them.
    """
    best = most_frequent(every, count)
    if set_size is None:
        return replace(best, drawn=True)
    chosen = count < len(every.items)
    return drawn_together(best, every) if chosen and combine is Combine.VARIANCE else best


def combined_estimate(
    before: RankingEstimate,
    now: RankingEstimate,
    *,
    combine: Combine,
    set_size: int,
    doubting: Callable[[RankingEstimate, NDArray[np.float64]], RankingEstimate] = doubted,
) -> RankingEstimate:
    """Combine two estimates for the items of `now`, which must all be among those of `before`.

    now: an estimate from at least one report.
    doubting: how what may be lost in sets larger than the padding adds to the errors.
    """
    before = selected(before, now.items)
    match combine:
        case Combine.PAPER:
            return _weighted(before, now, np.full(len(now.items), 1.0 / set_size))
        case Combine.VARIANCE:
            scaled = Losses.of(before, now).scaled()
            weight = 1.0 / (1.0 + (scaled.estimate.standard_error / now.standard_error) ** 2)
            return doubting(_weighted(scaled.estimate, now, weight), weight * scaled.doubt)


def _weighted(before: RankingEstimate, now: RankingEstimate, weight: NDArray[np.float64]) -> RankingEstimate:
    """Compute the mean of two estimates of the same items, with `weight` for `before`."""
    # An infinite error has weight 0, but 0 times infinity is no number.
    error = np.where(weight > 0.0, before.standard_error, 0.0)
    return RankingEstimate(
        items=now.items,
        frequency=weight * before.frequency + (1.0 - weight) * now.frequency,
        standard_error=np.hypot(weight * error, (1.0 - weight) * now.standard_error),
        unseen=None if before.unseen is None else weight * before.unseen,
    )


def most_frequent(estimate: RankingEstimate, count: int) -> RankingEstimate:
    """Select the `count` items of highest frequency, best first; of equal ones the lower item comes first."""
    keys = estimate.items.reshape(len(estimate.items), -1).T[::-1]
    order = np.lexsort((*keys, -estimate.frequency))[:count]
    return _take(estimate, order)


def selected(estimate: RankingEstimate, items: NDArray[np.int64]) -> RankingEstimate:
    """Select the estimates of these items, in their order."""
    order = np.argsort(estimate.items)
    return _take(estimate, order[np.searchsorted(estimate.items, items, sorter=order)])


def _take(estimate: RankingEstimate, places: NDArray[np.intp]) -> RankingEstimate:
    return replace(
        estimate,
        items=estimate.items[places],
        frequency=estimate.frequency[places],
        standard_error=estimate.standard_error[places],
        noise=None if estimate.noise is None else estimate.noise[places],
        unseen=None if estimate.unseen is None else estimate.unseen[places],
    )
