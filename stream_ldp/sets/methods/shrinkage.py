"""Estimates of the items that were chosen as the best of many, drawn to what all the items suggest.

An item that looks frequent among thousands has often but had luck. How much luck is usual is seen in the estimates of
all items: their frequencies f are taken to come from one distribution that falls from 0, a mixture of uniform
distributions on [0, a_k]. Its weights are the likeliest ones (adaptive shrinkage; Stephens, 2017), and the mean of f
given its estimate does not depend on how the item was chosen.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stream_ldp.sets.phases import RankingEstimate

__all__ = ["Frequencies", "drawn_together"]

#: The least a_k, in standard errors, below which uniform distributions look alike; others grow by a factor of 1.4.
_NARROWEST = 0.25
#: How far beyond the largest estimate the widest a_k reaches.
_BEYOND = 1.2
#: EM steps to the weights: the likelihood is flat at its top, and what the last steps add changes no mean.
_STEPS = 100
#: Number of bins into which more estimates than that are counted before the weights are learnt.
_BINS = 4_000
#: Floor of a density, of which the logarithm or the inverse is taken.
_TINY = 1e-300
#: Share of the distance by which an estimate is drawn that is added to its error. The distribution is wrong for some
#: items; the later phase, whose reports played no part in the choice, then counts for more. Of 0, 0.5 and 1, over
#: Mushroom and Zipf, intervals cover .84, .92 and .91 at the least, and 1 loses a quarter of what is gained.
_DOUBT = 0.5


def drawn_together(chosen: RankingEstimate, every: RankingEstimate) -> RankingEstimate:
    """Return estimates of chosen items without the luck by which they were chosen.

    chosen: the estimates of the best items.
    every: those of all the items from which they were chosen, with the same reports.
    """
    if not np.isfinite(every.standard_error).all() or not every.standard_error.all():
        return chosen
    mean = Frequencies.learn(every).means(chosen)
    moved = chosen.frequency - mean
    return replace(chosen, frequency=mean, standard_error=np.hypot(chosen.standard_error, _DOUBT * moved))


class Frequencies(NamedTuple):
    """The distribution of the items' frequencies.

    widths: a_k, ascending, shape (k,).
    weights: of each uniform distribution, shape (k,); they sum to 1.
    """

    widths: NDArray[np.float64]
    weights: NDArray[np.float64]

    @classmethod
    def learn(cls, every: RankingEstimate) -> Self:
        """Learn it from the estimates of all items; their errors are positive and finite."""
        frequency, error = every.frequency, every.standard_error
        least = _NARROWEST * float(error.min())
        most = max(_BEYOND * float(frequency.max()), 2.0 * least)
        widths = np.geomspace(least, most, 1 + int(np.ceil(2.0 * np.log2(most / least))))
        count = np.ones(len(frequency))
        if len(frequency) > _BINS:
            low, high = float(frequency.min()), float(frequency.max())
            place = np.minimum(((frequency - low) * (_BINS / (high - low))).astype(np.intp), _BINS - 1)
            count = np.bincount(place, minlength=_BINS).astype(np.float64)
            held = count > 0.0
            count, frequency, error = (
                count[held],
                *(
                    np.bincount(place, weights=each, minlength=_BINS)[held] / count[held]
                    for each in (frequency, error)
                ),
            )
        density = _densities(frequency, error, widths)
        weights = np.full(len(widths), 1.0 / len(widths))
        for _ in range(_STEPS):
            weights *= density.T @ (count / (density @ weights)) / count.sum()
        return cls(widths, weights)

    def means(self, estimate: RankingEstimate) -> NDArray[np.float64]:
        """Compute the mean of each frequency given its estimate."""
        # Imported here: a client never estimates, and must not wait for the import of SciPy.
        from scipy.special import ndtr  # noqa: PLC0415

        x, s = estimate.frequency[:, None], estimate.standard_error[:, None]
        posterior = _densities(estimate.frequency, estimate.standard_error, self.widths) * self.weights
        low, high = -x / s, (self.widths - x) / s
        inside = ndtr(high) - ndtr(low)
        heights = np.exp(-0.5 * low**2) - np.exp(-0.5 * high**2)
        # Of a normal distribution that is cut off at both ends; far out, only the nearer end is left of it.
        nearer = np.where(x < 0.0, 0.0, self.widths)
        cut = x + s * heights / np.sqrt(2.0 * np.pi) / np.maximum(inside, _TINY)
        means = np.where(inside > 1e-12, cut, nearer)
        mean: NDArray[np.float64] = (posterior * means).sum(axis=1) / posterior.sum(axis=1)
        return mean


def _densities(
    frequency: NDArray[np.float64], error: NDArray[np.float64], widths: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Compute the density of each estimate if f is uniform on [0, a_k], shape (estimates, k)."""
    from scipy.special import ndtr  # noqa: PLC0415  see Frequencies.means

    x, s = frequency[:, None], error[:, None]
    density: NDArray[np.float64] = np.maximum(ndtr(x / s) - ndtr((x - widths) / s), _TINY) / widths
    return density
