"""What sets larger than the padding have cost the estimates of a phase.

Of a set of s items, a phase with l slots counts each with weight min(1, l / s), so that what larger sets hold is
counted too low. Three things show it: a later phase that asks about fewer items, since the same sets hold fewer of
these (`Losses`); how many candidates sets hold, where a phase asks (svim.py); and otherwise, usual losses. None of
them shows all, so that the rest is a doubt: a standard deviation, as a share of each frequency.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from stream_ldp.sets.phases import RankingEstimate

#: Doubt about a phase about which nothing is reported: a quarter is lost of three quarters that are counted. With
#: sizes of 1 to 267 or 150 by a power law, nine in ten of them fitting, the most frequent items lost 0.05 to 0.45.
UNTOLD = 1.0 / 3.0
#: Indices a of the power law of large sets, whose part above s falls as s^-a: from sizes that hardly end to sizes
#: that nearly all fit.
INDICES = np.linspace(0.25, 2.0, 8)
#: Shares of a rare item's frequency that an earlier phase may have lost in sets larger than its padding.
_LOSSES = np.linspace(0.0, 0.95, 191)
#: By which part the loss of the most frequent item may be less than that of a rare one. Small sets hold what is
#: popular, so that a larger part of the sets with a rare item are large.
_TILTS = np.linspace(0.0, 1.0, 6)
#: What an earlier phase has lost if nothing is seen of it: where sizes fall geometrically, nine sets in ten that are
#: no larger than l hold nine tenths of all that sets hold.
_USUALLY_LOST = 0.1
#: Standard errors of the difference of two estimates above which an item's frequency shows the part.
_CLEAR = 3.0
#: By how much an item's loss differs from the mean loss, as a share of it: with sizes of 1 to 267, losses of the top
#: ten were .18 to .45. And by how much from that of others as frequent: with sizes of six kinds, by .03 to .09 of the
#: loss, and twice that of what it is a share of what is counted.
UNLIKE, UNLIKE_PEERS = 0.5, 0.2
#: Standard errors to either side of a 95 % interval, and to the upper end of a one-sided one.
NOMINAL, ONE_SIDED = 1.96, 1.645


def doubted(estimate: RankingEstimate, doubt: NDArray[np.float64] | float) -> RankingEstimate:
    """Return an estimate whose frequencies may all be off by the same factor, in every epoch.

    doubt: standard deviation of that factor, perhaps of each item.
    """
    unseen = doubt * estimate.frequency
    return replace(
        estimate,
        standard_error=np.hypot(estimate.standard_error, unseen),
        unseen=np.abs(unseen) if estimate.unseen is None else np.hypot(estimate.unseen, unseen),
    )


def stretched(estimate: RankingEstimate, doubt: NDArray[np.float64]) -> RankingEstimate:
    """Return an estimate whose frequencies may all be too small by the same factor, as `doubted`, with their noise.

    The factor multiplies the noise too, and in all items at once, so that no item makes up for another: errors are
    those at the upper end of its interval. What noise has shrunk towards nearly 0 may be as frequent as they say.

    doubt: standard deviation of that factor, perhaps of each item.
    """
    error, upper = estimate.standard_error, (1.0 + NOMINAL * doubt) * estimate.standard_error
    unseen = np.sqrt(upper**2 - error**2)
    if estimate.unseen is not None:
        unseen = np.hypot(unseen, estimate.unseen)
    return doubted(replace(estimate, standard_error=upper, noise=error, unseen=unseen), doubt)


def doubt_about(factors: NDArray[np.float64], log_posterior: NDArray[np.float64], *, unlike: float) -> float:
    """Compute the doubt about frequencies that are too small by one of these factors.

    A loss can only be positive. So an interval of 95 % reaches the loss that 19 in 20 items do not exceed.

    factors: what is lost, as a share of what is counted, at least 0; any shape.
    log_posterior: of each, up to a constant; the same shape.
    unlike: by how much an item's loss differs from the mean loss, as a share of it.
    """
    likely = np.exp(log_posterior - log_posterior.max()).ravel()
    likely /= likely.sum()
    order = np.argsort(factors, axis=None)
    place = min(int(np.searchsorted(np.cumsum(likely[order]), 0.95)), len(order) - 1)
    upper, mean = factors.ravel()[order[place]], likely @ factors.ravel()
    return float((upper + ONE_SIDED * unlike * mean) / NOMINAL)


def share_of(chosen: RankingEstimate, every: RankingEstimate) -> float:
    """Compute which part of all items that sets hold is chosen ones, at least that of equally frequent items.

    chosen: estimates of the most frequent items.
    every: of all items.
    """
    total = float(every.frequency.sum())
    share = float(chosen.frequency.sum()) / total if total > 0.0 else 1.0
    return min(max(share, len(chosen.items) / len(every.items)), 1.0)


def clear_items(before: RankingEstimate, now: RankingEstimate) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Average two estimates of the same items, in the same order, and decide which items are clear, shape (c,) each.

    Chosen by their mean, clear items are no likelier to be too high in one estimate than in the other.

    before: its standard errors may be infinite; then it counts for nothing.
    """
    x, y, s_x, s_y = before.frequency, now.frequency, before.standard_error, now.standard_error
    weight = 1.0 / (1.0 + (s_x / s_y) ** 2)
    mean = np.where(weight > 0.0, weight * x, 0.0) + (1.0 - weight) * y
    return mean, mean > _CLEAR * np.hypot(s_x, s_y)


class _Scaled(NamedTuple):
    """An estimate on the scale of a later one.

    doubt: about the part that it had counted, as far as the estimate's errors do not include it, as a share of it,
        shape (c,).
    """

    estimate: RankingEstimate
    doubt: NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class Losses:
    """What a later phase shows of the frequencies that an earlier one has lost in sets larger than its padding.

    Of the candidates, such a set holds fewer than of all items, so that a later phase counts its items in full, or
    more nearly so. An item has lost the more the rarer it is: b (1 - t f) with f its frequency as a share of the
    largest, so that the part c = 1 - b (1 - t f) was counted of what the later phase counts. The likelihood of b and
    t over all clear items, each with its likeliest frequency, is that of x - c y with variance s_x^2 + c^2 s_y^2
    (Deming, 1943).

    before: the earlier estimate of the items.
    share: f, shape (c,).
    log_likelihood: of each b and t, shape (b, t).
    """

    before: RankingEstimate
    share: NDArray[np.float64]
    log_likelihood: NDArray[np.float64]

    @classmethod
    def of(cls, before: RankingEstimate, now: RankingEstimate) -> Self:
        """Learn from two estimates of the same items, in the same order."""
        x, y, s_x, s_y = before.frequency, now.frequency, before.standard_error, now.standard_error
        if not (np.isfinite(s_x).all() and np.isfinite(s_y).all()):
            return cls(before=before, share=np.zeros(len(x)), log_likelihood=np.zeros((len(_LOSSES), len(_TILTS))))
        mean, clear = clear_items(before, now)
        share = np.maximum(mean, 0.0) / max(float(mean.max()), np.finfo(np.float64).tiny)
        parts = _parts(share[clear])
        squares = (x[clear] - parts * y[clear]) ** 2 / (s_x[clear] ** 2 + (parts * s_y[clear]) ** 2)
        return cls(before=before, share=share, log_likelihood=-0.5 * squares.sum(axis=-1))

    def scaled(self) -> _Scaled:
        """Undo what larger sets have cost the earlier estimate, as far as the later one shows.

        The error grows by the doubt about c and by how much single items differ from it. What is usually lost makes
        the estimate. Where no item is clear this is all the information, and far more may be lost: the prior then has
        the same scale and a long tail.
        """
        x, s_x = self.before.frequency, self.before.standard_error
        if not np.isfinite(s_x).all():
            return _Scaled(self.before, doubt=np.zeros(len(x)))
        parts, lost = _parts(self.share), (_LOSSES[:, None] / _USUALLY_LOST) ** 2
        usual, unusual = (
            self.log_likelihood - 0.5 * lost,
            self.log_likelihood - np.log1p(lost),
        )  # Cauchy's distribution
        part = parts[np.unravel_index(np.argmax(usual), usual.shape)]
        doubt = _mean(usual, (parts - part) ** 2) + (UNLIKE * (1.0 - part)) ** 2
        factors = np.log(parts / part) ** 2
        spread = np.sqrt(np.maximum(0.0, _mean(unusual, factors) - _mean(usual, factors)))
        scaled = replace(self.before, frequency=x / part, standard_error=s_x / part)
        return _Scaled(
            doubted(scaled, np.sqrt(doubt) * (x > 0.0)),
            # It is the same for all items, and so no matter of their weights. What is lost can only be more, so that
            # an interval of the estimate has to reach the upper end of that of a lognormal factor.
            doubt=np.expm1(NOMINAL * spread) / NOMINAL,
        )


def _parts(share: NDArray[np.float64]) -> NDArray[np.float64]:
    """Compute the part of each item that was counted for each b and t, shape (b, t, c)."""
    return 1.0 - _LOSSES[:, None, None] * (1.0 - _TILTS[:, None] * share)


def _mean(log_posterior: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Compute the posterior mean of a value of each item, shape (c,)."""
    likely = np.exp(log_posterior - log_posterior.max())
    return np.tensordot(likely / likely.sum(), values, axes=2)
