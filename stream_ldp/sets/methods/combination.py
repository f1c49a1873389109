"""The estimate from the reports of a phase, and its combination with the one from the phase before."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from stream_ldp.mechanisms import frequencies, standard_errors
from stream_ldp.sets.methods.shrinkage import drawn_together
from stream_ldp.sets.phases import RankingEstimate

if TYPE_CHECKING:
    from collections.abc import Callable

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
    "of_single_items",
    "phase_estimate",
    "stretched",
]

#: Shares of a rare item's frequency that an earlier phase may have lost in sets larger than its padding.
_LOSSES = np.linspace(0.0, 0.95, 191)
#: By which part the loss of the most frequent item may be less than that of a rare one. Small sets hold what is
#: popular, so that a larger part of the sets with a rare item are large.
_TILTS = np.linspace(0.0, 1.0, 6)
#: What is lost if nothing is seen of it: where sizes fall geometrically, nine sets in ten that are no larger than l
#: hold nine tenths of all that sets hold.
_USUALLY_LOST = 0.1
#: Standard errors of the difference of two estimates above which an item's frequency tells the part.
_CLEAR = 3.0
#: By how much an item's loss differs from the mean loss, as a share of it: with sizes of 1 to 267, losses of the top
#: ten were .18 to .45.
_UNLIKE = 0.5
#: Standard errors to either side of a 95 % interval.
_NOMINAL = 1.96


class Combined(NamedTuple):
    """Two estimates in one.

    lost: share of each frequency that the earlier phase has not counted, as the later one shows, shape (c,).
    """

    estimate: RankingEstimate
    lost: NDArray[np.float64]


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
    before: RankingEstimate,
    now: RankingEstimate,
    *,
    combine: Combine,
    set_size: int,
    doubting: Callable[[RankingEstimate, NDArray[np.float64]], RankingEstimate] | None = None,
) -> Combined:
    """Combine two estimates for the items of `now`, all of which must be among those of `before`.

    now: an estimate from at least one report.
    doubting: how what may be lost in sets larger than the padding adds to the errors; `doubted` by default.
    """
    before = _select(before, now.items)
    match combine:
        case Combine.PAPER:
            nothing = np.zeros(len(now.items))
            return Combined(_weighted(before, now, nothing + 1.0 / set_size), lost=nothing)
        case Combine.VARIANCE:
            scaled = _on_the_scale_of(now, before)
            weight = 1.0 / (1.0 + (scaled.estimate.standard_error / now.standard_error) ** 2)
            both = _weighted(scaled.estimate, now, weight)
            return Combined((doubting or doubted)(both, weight * scaled.doubt), lost=scaled.lost)


def of_single_items(lost: NDArray[np.float64] | float) -> NDArray[np.float64]:
    """Compute the doubt about each frequency where so much of them may be lost on average: single items differ."""
    found: NDArray[np.float64] = np.hypot(1.0, _UNLIKE) * np.asarray(lost)
    return found


def doubted(estimate: RankingEstimate, doubt: NDArray[np.float64] | float) -> RankingEstimate:
    """Return an estimate whose frequencies may all be off by the same factor.

    doubt: standard deviation of that factor, perhaps of each item.
    """
    return replace(estimate, standard_error=np.hypot(estimate.standard_error, doubt * estimate.frequency))


def stretched(estimate: RankingEstimate, doubt: NDArray[np.float64]) -> RankingEstimate:
    """Return an estimate whose frequencies may all be too small by the same factor, as `doubted`, with their noise.

    The factor multiplies the noise too, and in all items at once, so that no item makes up for another: errors are
    those at the upper end of its interval. What noise has drawn to nearly 0 may be as frequent as they say.

    doubt: standard deviation of that factor, perhaps of each item.
    """
    error = estimate.standard_error
    upper = replace(estimate, standard_error=(1.0 + _NOMINAL * doubt) * error, noise=error)
    return doubted(upper, doubt)


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

    lost: the part of each frequency that it had not counted, root mean square over all that the reports leave open,
        shape (c,).
    doubt: about that part, as far as the estimate's errors do not know of it, as a share of it, shape (c,).
    """

    estimate: RankingEstimate
    lost: NDArray[np.float64]
    doubt: NDArray[np.float64]


def _on_the_scale_of(now: RankingEstimate, before: RankingEstimate) -> _Scaled:
    """Undo what sets larger than the padding have cost the estimate before, as far as the later one tells.

    Of the candidates, such a set holds fewer than of all items, so that a later phase counts its items in full. An
    item has lost the more the rarer it is: b (1 - t f) with f its frequency as a share of the largest, so that the
    part c = 1 - b (1 - t f) of it was counted. The likelihood of b and t over all clear items, each with its
    likeliest frequency, is that of x - c y with variance s_x^2 + c^2 s_y^2 (Deming, 1943). The error grows by the
    doubt about c and by how much single items differ from it.

    What is usually lost makes the estimate. Where no item is clear it is all that is known, and far more may be lost:
    the doubt is that of a prior with the same scale and a long tail.
    """
    x, y, s_x, s_y = before.frequency, now.frequency, before.standard_error, now.standard_error
    if not (np.isfinite(s_x).all() and np.isfinite(s_y).all()):
        return _Scaled(before, lost=np.zeros(len(x)), doubt=np.zeros(len(x)))
    weight = 1.0 / (1.0 + (s_x / s_y) ** 2)
    mean = weight * x + (1.0 - weight) * y
    # Chosen by their mean, clear items are no likelier to be too high in one estimate than in the other.
    clear = mean > _CLEAR * np.hypot(s_x, s_y)
    share = np.maximum(mean, 0.0) / max(float(mean.max()), np.finfo(np.float64).tiny)
    parts = 1.0 - _LOSSES[:, None, None] * (1.0 - _TILTS[:, None] * share)
    of_clear = parts[..., clear]
    squares = (x[clear] - of_clear * y[clear]) ** 2 / (s_x[clear] ** 2 + (of_clear * s_y[clear]) ** 2)
    likelihood, lost = -0.5 * squares.sum(axis=-1), (_LOSSES[:, None] / _USUALLY_LOST) ** 2
    usual, unusual = likelihood - 0.5 * lost, likelihood - np.log1p(lost)  # Cauchy's distribution
    part = parts[np.unravel_index(np.argmax(usual), usual.shape)]
    doubt = _mean(usual, (parts - part) ** 2) + (_UNLIKE * (1.0 - part)) ** 2
    factors = np.log(parts / part) ** 2
    spread = np.sqrt(np.maximum(0.0, _mean(unusual, factors) - _mean(usual, factors)))
    return _Scaled(
        RankingEstimate(
            items=before.items,
            frequency=x / part,
            standard_error=np.sqrt(s_x**2 + doubt * np.maximum(x, 0.0) ** 2) / part,
        ),
        lost=np.sqrt(_mean(unusual, (1.0 - parts) ** 2)),
        # It is the same for all items, and so no matter of their weights. What is lost can only be more, so that an
        # interval of the estimate has to reach the upper end of that of a lognormal factor.
        doubt=np.expm1(_NOMINAL * spread) / _NOMINAL,
    )


def _mean(log_posterior: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Compute the posterior mean of a value of each item, shape (c,)."""
    likely = np.exp(log_posterior - log_posterior.max())
    found: NDArray[np.float64] = np.tensordot(likely / likely.sum(), values, axes=2)
    return found


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
        noise=None if estimate.noise is None else estimate.noise[places],
    )
