"""The part of each frequency that padding has cut off, from a model of how users come by large sets.

A set of s items is taken to be drawn by chance, one item after another: it holds an item of popularity a with
probability 1 - exp(-a e), where e is the effort with which a set has s items on the mean. Sizes of the sets that do
not fit the slots follow a power law, or are all the same. Neither the law nor the share of these sets is known. The
prior is that nearly all sets fit. A phase that has asked about more items, or how many of them sets hold, shows more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from stream_ldp.sets.methods.larger_sets import (
    NOMINAL,
    ONE_SIDED,
    UNLIKE,
    UNLIKE_PEERS,
    clear_items,
    doubt_about,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stream_ldp.mechanisms import FrequencyOracle
    from stream_ldp.sets.phases import RankingEstimate

#: Shares of the users whose sets do not fit, and the scale of their prior, the half of a t-distribution with three
#: degrees of freedom: `set_size` is the size of nearly all sets, or of nine in ten.
_LARGER, USUALLY_LARGER = np.array([0.0, 0.002, 0.005, 0.01, 0.02, 0.04, 0.07, 0.12, 0.2, 0.4]), 0.1
#: Indices of the power law of their sizes: from as many of each size to hardly any large ones.
_INDICES = (-1.0, 0.0, 1.0, 3.0)
#: Largest size of a set, in slots of the earlier phase.
_LARGEST = 16
#: Sizes above the slots, popularities, efforts, and most frequencies for which the model is computed.
_SIZES, _LEVELS = 8, 16
_POPULARITIES = np.geomspace(1e-6, 1e2, 40)
_EFFORTS = np.geomspace(0.1, 1e4, 20)
#: Numbers of candidates in sets of a size, as parts of their mean, each as often.
_SPREAD = np.array([0.7, 1.0, 1.3])
#: Steps to efforts and weights, which depend on popularities, as these depend on them.
_STEPS = 2
#: By how much a correction is wrong, as a share of what it adds.
_CORRECTED = 0.25
_TINY = 1e-6


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class Slots:
    """The slots of a phase.

    items: number of items that it asks about.
    padding: number of slots.
    """

    items: int
    padding: int
    oracle: FrequencyOracle

    def shown(self, sizes: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the weight of an item of a set that holds so many of the items."""
        return self.oracle.shown(np.maximum(sizes, 1.0), padding=self.padding)


class _Cuts(NamedTuple):
    """What is cut off for each law and each share of larger sets, t in all.

    compared: the part that the earlier phase counts of what the later one counts, of each frequency, shape (t, f).
    lost: what the later phase has lost, as a share of what it counts, shape (t, f).
    mean: of that, over all items, shape (t,).
    larger, left: shares of the users whose sets do not fit the slots of the earlier phase, and of the later one.
    weight: of the prior at such a share.
    """

    compared: NDArray[np.float64]
    lost: NDArray[np.float64]
    mean: NDArray[np.float64]
    larger: NDArray[np.float64]
    left: NDArray[np.float64]
    weight: NDArray[np.float64]

    def log_prior(self, scale: float) -> NDArray[np.float64]:
        """Return the logarithm of the prior, up to a constant, for a scale of the share of larger sets."""
        scaled: NDArray[np.float64] = self.larger / max(scale, _LARGER[1])
        return np.log(self.weight) - 2.0 * np.log1p(scaled**2 / 3.0)


def doubt_of_compared(
    before: RankingEstimate, now: RankingEstimate, *, earlier: Slots, later: Slots, share: float, larger: float
) -> tuple[NDArray[np.float64], float]:
    """Compute the doubt about what a later phase has lost, as a share of each frequency, shape (c,).

    before, now: estimates of the items of the later phase, in the same order.
    share: part of all items that sets hold of those of the earlier phase which the items of the later are.
    larger: scale of the share of the users whose sets do not fit the slots of the earlier phase.
    Returns the doubt, and that scale for the slots of the later phase.
    """
    mean, clear = clear_items(before, now)
    levels, users = _levels(mean)
    held = max(float(mean.sum()), _TINY) / share
    cuts = _cuts(levels, users, held=held, share=share, earlier=earlier, later=later)
    x, s_x = before.frequency[clear], before.standard_error[clear]
    y, s_y = now.frequency[clear], now.standard_error[clear]
    part = np.array([np.interp(mean[clear], levels, each) for each in cuts.compared])
    variance = s_x**2 + (part * s_y) ** 2 + (UNLIKE_PEERS * (1.0 - part) * y) ** 2
    log_likelihood = -0.5 * np.sum((x - part * y) ** 2 / variance + np.log(variance), axis=1)
    log_posterior = cuts.log_prior(larger) + log_likelihood
    doubts = [doubt_about(factors, log_posterior, unlike=UNLIKE) for factors in cuts.lost.T]
    likely = np.exp(log_posterior - log_posterior.max())
    left = np.sqrt(likely @ cuts.left**2 / likely.sum())
    return np.interp(mean, levels, doubts), float(left)


def doubt_of_corrected(now: RankingEstimate, *, slots: Slots, correction: float, doubt: float) -> NDArray[np.float64]:
    """Compute the doubt about frequencies that are corrected by one factor for all items, shape (c,).

    Frequent items are held by small sets too, and have lost less than that.

    now: corrected frequencies.
    correction, doubt: the factor, and the doubt about the mean of what it should be, as a share of it.
    """
    levels, users = _levels(now.frequency)
    counted = levels / correction
    held = float(counted @ users)
    cuts = _cuts(counted, users, held=held, share=1.0, earlier=slots, later=slots)
    off = (1.0 + cuts.mean) / correction - 1.0
    error = np.hypot(doubt, _CORRECTED * (1.0 - 1.0 / correction))
    log_posterior = cuts.log_prior(USUALLY_LARGER) - 0.5 * (off / max(error, _TINY)) ** 2
    likely = np.exp(log_posterior - log_posterior.max())
    unlike = ONE_SIDED / NOMINAL * UNLIKE_PEERS * (likely @ cuts.lost) / likely.sum()
    right = (1.0 + cuts.lost) / correction - 1.0
    doubts = np.array([doubt_about(np.abs(each), log_posterior, unlike=0.0) for each in right.T])
    doubt_of: NDArray[np.float64] = np.interp(now.frequency, levels, doubts + unlike)
    return doubt_of


def _levels(frequency: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return a few frequencies that stand for all, rising, and the number of items of each; shape (f,) each.

    The most frequent items stand for themselves, and the rarer they are the more have one frequency.
    """
    falling = -np.sort(-np.maximum(frequency, _TINY))
    starts = np.unique(np.geomspace(1, len(falling) + 1, _LEVELS).astype(np.int64)[:-1] - 1)
    counts = np.diff(starts, append=len(falling)).astype(np.float64)
    return (np.add.reduceat(falling, starts) / counts)[::-1], counts[::-1]


def _cuts(
    levels: NDArray[np.float64],
    items: NDArray[np.float64],
    *,
    held: float,
    share: float,
    earlier: Slots,
    later: Slots,
) -> _Cuts:
    """Compute what is cut off by each law, with each share of larger sets.

    levels, items: frequencies as the later phase counts them, rising, and how many items have each, shape (f,).
    held: mean of how many items of the earlier phase sets have in its slots.
    share: see `doubt_of_compared`.
    """
    slots, others = earlier.padding, earlier.items - items.sum()
    rest = held * (1.0 - share) / max(others, 1.0)
    edges = np.geomspace(slots, max(min(_LARGEST * slots, earlier.items), slots), _SIZES + 1)
    above = np.sqrt(edges[1:] * edges[:-1])
    laws = np.array([*((above / slots) ** -index for index in _INDICES), *np.eye(_SIZES)[1::3]])
    laws /= laws.sum(axis=1, keepdims=True)
    # The larger the sets of a law are in comparison with the slots, the less likely it is.
    weight = np.multiply.outer(np.gradient(_LARGER), slots / (laws @ above)).ravel()
    larger = np.repeat(_LARGER, len(laws))
    # What others hold is what they must to hold as many on the mean.
    small = np.maximum((held - larger * slots) / (1.0 - larger), 0.1)
    sizes = np.concatenate((small[:, None], np.broadcast_to(above, (len(larger), _SIZES))), axis=1)
    users = np.concatenate((1.0 - larger[:, None], larger[:, None] * np.tile(laws, (len(_LARGER), 1))), axis=1)
    shown, effort, weights = earlier.shown(sizes), sizes, np.ones(sizes.shape)
    for _ in range(_STEPS):
        holds = _holds(_POPULARITIES, effort)
        popularity = _inverse(levels, _sum(holds, users * weights), _POPULARITIES)
        of_rest = _inverse(np.array([rest]), _sum(holds, users * shown), _POPULARITIES)
        among = items @ _holds(popularity, _EFFORTS) + others * _holds(of_rest, _EFFORTS)[:, 0]
        effort = _inverse(sizes, among, _EFFORTS)
        # Sets that fit the earlier slots fit the later ones, too.
        candidates = items @ _holds(popularity, effort[:, 1:])
        candidates = np.minimum(np.multiply.outer(_SPREAD, candidates), later.items)
        weights = np.concatenate((np.ones((len(larger), 1)), later.shown(candidates).mean(axis=0)), axis=1)
    popularity = _inverse(levels, _sum(_holds(_POPULARITIES, effort), users * weights), _POPULARITIES)
    holds = _holds(popularity, effort)
    true, before, now = (_sum(holds, users * each) for each in (1.0, shown, weights))
    return _Cuts(
        compared=before / now,
        lost=true / now - 1.0,
        mean=(true @ items) / (now @ items) - 1.0,
        larger=larger,
        left=np.sum(users[:, 1:] * (candidates > later.padding).mean(axis=0), axis=1),
        weight=weight,
    )


def _holds(popularity: NDArray[np.float64], effort: NDArray[np.float64]) -> NDArray[np.float64]:
    """Compute the probability with which sets hold items, shape (t, p, e).

    popularity, effort: of items and sets, shape (t, p) and (t, e), or without t where all have the same.
    """
    return -np.expm1(-popularity[..., :, None] * effort[..., None, :])


def _sum(holds: NDArray[np.float64], users: NDArray[np.float64]) -> NDArray[np.float64]:
    """Compute how many users hold each item, shape (t, p), from their number by effort, shape (t, e)."""
    held: NDArray[np.float64] = (holds @ users[:, :, None])[..., 0]
    return held


def _inverse(
    values: NDArray[np.float64], of: NDArray[np.float64], arguments: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Find the arguments at which rising functions have these values: a line between logarithms.

    values: shape (t, v), or (v,) for all functions.
    of: of each function at the arguments, shape (t, a).
    """
    values, of, arguments = np.log(np.maximum(values, _TINY)), np.log(of), np.log(arguments)
    values = np.broadcast_to(values, (len(of), values.shape[-1]))
    above = np.clip(np.sum(of[:, None, :] <= values[:, :, None], axis=2), 1, len(arguments) - 1)
    low, high = (np.take_along_axis(of, places, axis=1) for places in (above - 1, above))
    part = np.clip((values - low) / np.maximum(high - low, _TINY), 0.0, 1.0)
    found: NDArray[np.float64] = arguments[above - 1] + part * (arguments[above] - arguments[above - 1])
    return np.exp(found)
