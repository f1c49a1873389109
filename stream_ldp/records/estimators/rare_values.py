"""How many users may have a value that few reports or none show, where errors that are linear in reports fail.

Let the value have a share x of users more than in the estimate, and all others lose in proportion. The log-likelihood
of N reports of one attribute is then about N (g - 1) x - N (h - 2 g + 1) x^2 / 2. Here L is the likelihood of the
value, z that of the estimate, and g and h are the means of L / z and its square. Where the estimate has drawn a value
to nearly nothing, g is below 1. With a flat prior, x is then exponential, and its 95 % bound is three times its mean:
without noise, 3 / N (the rule of three; Hanley and Lippman-Hand, 1983). Where g is 1, x is normal. In both cases its
mean square is about

    m = 1 / (N (h - 2 g + 1) + N^2 (1 - g)^2 / 2 + 1 / V),

with V the prior variance of a share. That is about the population. Which of the users who reported have the value,
their reports leave open for the share k = g - P h of them, P the estimated share. So the mean square distance of the
estimate to their share is

    k^2 m + k sqrt(P^2 + m) / N.

With k-RR at p / q = e^epsilon where all name another value, k is e^-epsilon. This is about the mean square of a
geometric number of users, where each more of them is e^-epsilon times as likely.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from stream_ldp.records.estimators.likelihood import Likelihood
from stream_ldp.records.estimators.patterns import FloatArray


class RareValues(NamedTuple):
    """What the values of each attribute, by themselves, say of the errors of cells; squares, shape of the joint.

    least: of the values whose share may well be more than twice the estimated one, by as much as that is more.
    most: of a cell that holds nobody, or all who have one of its values.
    """

    least: FloatArray
    most: FloatArray

    @classmethod
    def of(cls, joint: FloatArray, shares: Sequence[FloatArray], errors: Sequence[ShareErrors]) -> Self:
        """Compute both for an estimate, from the estimated shares of each attribute's values and their errors."""
        distances = [error.squares for error in errors]
        beyond = [np.maximum(each - share**2, 0.0) for each, share in zip(distances, shares, strict=True)]
        largest = [np.hypot(share, np.sqrt(each)) for each, share in zip(distances, shares, strict=True)]
        least = joint**2 * sum(float(each.sum()) for each in beyond)
        all_have, others_have = np.full(joint.shape, np.inf), np.zeros(joint.shape)
        for j in range(joint.ndim):
            # Nothing is known of the other attributes of users who have a rare value.
            least = least + reduce(
                np.multiply.outer, [beyond[j] if i == j else each for i, each in enumerate(shares)]
            )
            along = [-1 if i == j else 1 for i in range(joint.ndim)]
            all_have = np.minimum(all_have, largest[j].reshape(along))
            others_have = others_have + (largest[j].sum() - largest[j]).reshape(along)
        most = np.minimum(joint**2 + all_have**2, (1.0 - joint) ** 2 + others_have**2)
        return cls(least=least, most=most)


class ShareErrors(NamedTuple):
    """How far the shares of an attribute's values may be from those of the users who reported, shape (size,).

    squares: mean square distances.
    rare: whether the reports say that a value is rarer than what the estimate draws it to.
    """

    squares: FloatArray
    rare: NDArray[np.bool_]

    @classmethod
    def of(cls, likelihood: Likelihood, share: FloatArray, *, variance: float) -> Self:
        """Compute it from at least one report of one attribute.

        share: P, the estimated shares.
        variance: prior variance of each coefficient in the basis of the uniform distribution, so that shares have
            V = variance (size - 1) / size^2.
        """
        N, size = likelihood.reports, len(share)
        g = likelihood.mean_products([lambda L: L / (L @ share)[:, None]])
        h = likelihood.mean_products([lambda L: np.square(L / (L @ share)[:, None])])
        untold = np.clip(g - share * h, 0.0, 1.0)
        within, below = N * np.maximum(h - 2.0 * g + 1.0, 0.0), 0.5 * (N * np.maximum(1.0 - g, 0.0)) ** 2
        more = 1.0 / (within + below + size**2 / ((size - 1) * variance))
        squares = untold**2 * more + untold * np.sqrt(share**2 + more) / N
        return cls(squares=squares, rare=below > within)

    def most(self, functions: FloatArray) -> FloatArray:
        """Bound the expected squared error of the coefficients of some functions, shape (size, functions)."""
        bound: FloatArray = np.where(self.rare, self.squares, 1.0) @ np.square(functions)
        return bound
