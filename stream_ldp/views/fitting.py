"""The fit: consistent joint distributions of any attributes, from the tables of views.

Margins and pairs are combined over the views by inverse variance. The dependence of a pair is its difference from the
product of its margins. It is shrunk towards that of the factors of all pairs, as far as all pairs show it to be noise
(empirical Bayes; Robbins, 1956): the noise of a wide table exceeds most dependence. Pairs are then put on the simplex
(norm-sub; Wang et al., 2020) and fitted to their margins, and any further joint distribution is the one of maximum
entropy with these pairs (iterative proportional fitting; Deming and Stephan, 1940).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from stream_ldp.mechanisms.simplex import on_simplex
from stream_ldp.views.factors import Factors, factors_of
from stream_ldp.views.margins import Margin, centred, margins_of
from stream_ldp.views.strength import learnt, shown
from stream_ldp.views.tables import MarginalTables, Told, combined

#: Most sweeps of a fit, and where it has converged: the sum of absolute changes in a sweep. A standard error of as
#: little takes more reports than any window holds.
_SWEEPS, CHANGE = 60, 1e-7
#: Least share of the product of the margins in a pair: without it, a cell that noise put to 0 could not be fitted.
_LEAST = 1e-9


@dataclass(frozen=True, kw_only=True)
class Pair:
    """The joint distribution of two attributes.

    probability: float64, shape (values of the first, values of the second), with the margins of the fit.
    information: inverse variance of a contrast before it was shrunk.
    kept: the part that shrinking has kept of what the factors leave of the dependence, in [0, 1].
    noise: the part of the noise's variance that is left in the dependence, in [0, 1].
    hidden: expected square of what shrinking has taken from a coefficient of the dependence, in units of its noise.
    open: variance of a coefficient of the dependence given all pairs, in the same units.
    """

    probability: NDArray[np.float64]
    information: float
    kept: float
    noise: float
    hidden: float
    open: float


@dataclass(frozen=True, kw_only=True)
class Joint:
    """The joint distribution of some attributes.

    probability: float64, an axis for each attribute.
    sweeps: of proportional fitting.
    change: sum of absolute changes in the last of them; 0 where nothing was to be fitted.
    """

    probability: NDArray[np.float64]
    sweeps: int
    change: float


class Fit:
    """Margins, pairs, and all joint distributions that follow from them, each computed when it is first asked for."""

    def __init__(self, tables: Sequence[Told], *, sizes: Sequence[int]) -> None:
        """Combine the tables.

        sizes: number of values of each attribute of the collection.
        """
        self.tables = tables
        self.sizes = tuple(sizes)
        self._raw = combined(tables, most=2)
        self._pairs: dict[tuple[int, int], Pair] = {}
        self._joints: dict[tuple[int, ...], Joint] = {}

    @property
    def measured(self) -> MarginalTables:
        """The attributes and pairs as all tables show them, without bias and with noise."""
        return self._raw

    def with_measured(self, measured: MarginalTables) -> Fit:
        """Return the fit with other tables of some attributes and pairs."""
        found = Fit(self.tables, sizes=self.sizes)
        found._raw |= measured
        return found

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """The pairs of attributes that somebody has reported, ascending."""
        return sorted((of[0], of[1]) for of in self._raw if len(of) == 2)

    def information(self, of: tuple[int, ...]) -> float:
        """Return the inverse variance of a contrast of an attribute or a pair; 0 where nobody reported it."""
        return self._raw[of][1] if of in self._raw else 0.0

    def margin(self, place: int) -> NDArray[np.float64]:
        """Return the distribution of an attribute, shape (values,); uniform where nobody has reported it."""
        return self._margins[place]

    def hidden(self, place: int) -> float:
        """Return the expected square of what dependence may have moved a coefficient of a margin by."""
        return self._measured[place].hidden

    @cached_property
    def _measured(self) -> list[Margin]:
        return margins_of(self._raw, sizes=self.sizes)

    @cached_property
    def _margins(self) -> list[NDArray[np.float64]]:
        return [margin.probability for margin in self._measured]

    @cached_property
    def _factors(self) -> Factors:
        dependences: dict[tuple[int, ...], tuple[NDArray[np.float64], float]] = {
            of: (self._dependence(of), self._raw[of][1]) for of in self.pairs
        }
        return factors_of(dependences, self._margins)

    @cached_property
    def _known(self) -> dict[tuple[int, int], tuple[float, float]]:
        """The part of what the factors leave of the dependence of each pair that is no noise, and the variance."""
        found = [
            shown(self._left(of), self._raw[of][1], (self._margins[of[0]], self._margins[of[1]])) for of in self.pairs
        ]
        strength = learnt(found)
        known = zip(strength.kept.tolist(), strength.variance.tolist(), strict=True)
        return dict(zip(self.pairs, known, strict=True))

    def _dependence(self, of: tuple[int, int]) -> NDArray[np.float64]:
        return centred(self._raw[of][0] - np.outer(self._margins[of[0]], self._margins[of[1]]))

    def _left(self, of: tuple[int, int]) -> NDArray[np.float64]:
        """Return what the factors leave of the dependence of a pair."""
        dependence = self._dependence(of)
        return dependence - self._factors.dependences.get(of, np.zeros_like(dependence))

    def pair(self, first: int, second: int) -> Pair:
        """Return the joint distribution of two attributes, which somebody has reported, at ascending positions.

        Raises:
            KeyError: nobody has.
        """
        if (first, second) not in self._pairs:
            self._pairs[first, second] = self._pair((first, second))
        return self._pairs[first, second]

    def _pair(self, of: tuple[int, int]) -> Pair:
        rows, columns = self._margins[of[0]], self._margins[of[1]]
        information, rest, (kept, variance) = self._raw[of][1], self._left(of), self._known[of]
        found, share = np.outer(rows, columns) + self._dependence(of) - (1 - kept) * rest, self._factors.share
        left_open = _left_open(information * float((rest**2).sum()), (len(rows) - 1) * (len(columns) - 1))
        return Pair(
            probability=with_margins(on_simplex(found.ravel()).reshape(found.shape), rows, columns),
            information=information,
            kept=kept,
            noise=share + (1 - share) * kept**2,
            hidden=(1 - share) * (1 - kept) ** 2 * left_open,
            open=(1 - share) * variance,
        )

    def joint(self, of: Sequence[int]) -> Joint:
        """Return the joint distribution of the most entropy with the known pairs of these attributes.

        of: positions, distinct, in the order of the axes. Attributes without a pair are independent.
        """
        order = tuple(sorted(of))
        if order not in self._joints:
            self._joints[order] = self._joint(order)
        found = self._joints[order]
        return replace(found, probability=found.probability.transpose([order.index(place) for place in of]))

    def _joint(self, order: tuple[int, ...]) -> Joint:
        start = np.ones(())
        for place in order:
            start = np.multiply.outer(start, self.margin(place))
        measured = [
            ((axis, other), self.pair(order[axis], order[other]).probability)
            for axis, other in combinations(range(len(order)), 2)
            if (order[axis], order[other]) in self._raw
        ]
        found, sweeps, change = proportional_fit(start, measured)
        return Joint(probability=found, sweeps=sweeps, change=change)


def proportional_fit(
    start: NDArray[np.float64], measured: Sequence[tuple[tuple[int, int], NDArray[np.float64]]]
) -> tuple[NDArray[np.float64], int, float]:
    """Fit a joint distribution to pairs, with the least divergence from the start.

    start: float64, an axis for each attribute.
    measured: axes of two attributes, ascending, and their joint distribution.

    Returns:
        The distribution, the number of sweeps, and the sum of the absolute changes in the last one.
    """
    if len(measured) == 1 and start.ndim == 2:
        return measured[0][1], 0, 0.0
    found, change, swept = start, 0.0, 0
    while measured and swept < _SWEEPS:
        swept += 1
        before = found
        for axes, pair in measured:
            others = tuple(axis for axis in range(start.ndim) if axis not in axes)
            sums = found.sum(axis=others, keepdims=True)
            # A pair that has come to 0 stays there: what is divided by is not 0 where anything is left.
            found = found * (np.expand_dims(pair, others) / np.where(sums > 0, sums, 1.0))
        change = float(np.abs(found - before).sum())
        if change < CHANGE:
            break
    return found / found.sum(), swept, change


def _left_open(statistic: float, freedom: int) -> float:
    """Return the mean square of the coefficients of a table that noise leaves open, in units of the noise.

    It is what their squared norm has above that of noise, and one standard deviation more.
    """
    return (max(0.0, statistic - freedom) + math.sqrt(2 * freedom)) / freedom


def with_margins(
    table: NDArray[np.float64], rows: NDArray[np.float64], columns: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Fit a table of two attributes to their margins."""
    found = np.maximum(table, _LEAST * np.outer(rows, columns))
    for _ in range(_SWEEPS):
        sums = found.sum(axis=1)
        found = found * (rows / np.where(sums > 0, sums, 1.0))[:, None]
        sums = found.sum(axis=0)
        found = found * (columns / np.where(sums > 0, sums, 1.0))
        if float(np.abs(found.sum(axis=1) - rows).sum()) < CHANGE:
            break
    return found
