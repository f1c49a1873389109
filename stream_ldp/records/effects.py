"""How the errors of the cells of a joint distribution go together, and the errors of what is made of them.

The error of a cell is the sum of an effect of each set S of axes, as in an analysis of variance. Effects of different
sets have nothing to do with each other, and those of a set add up to 0 along each of its axes. Users who are in S by
mistake are spread over the other axes as all users are, so that the effect of S on a cell w is

    E_S(w_S) prod_{j not in S} m_j(w_j),    Cov(E_S(v), E_S(u)) = V_S prod_{j in S} s_j(v) (1[u = v] - s_j(u)),

with m_j the marginal of axis j and s_j its spread: a distribution that says which values have the larger errors. So
the variance of a weighted sum of cells is

    sum_S V_S sum_v prod_{j in S} s_j(v_j) c_S(v)^2,

where c_S are the weights, from which the mean under s_j is subtracted for each j in S, and of which the mean under
m_j is taken for each other j. A marginal has the effects of its own axes alone. The effect of all axes is in single
cells alone: it is what their squared standard errors have beyond the other effects.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Self

import numpy as np
from pydantic import Field, model_validator

from stream_ldp.message_part import Finite, MessagePart

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    FloatArray = NDArray[np.float64]

#: Significant digits of what a message has of errors.
_DIGITS = 4
#: Passes in which a spread is found from the variance of each value, which is s (1 - s) times that of the effect.
_PASSES = 20
#: Least share, and variance, by which is divided.
_TINY = 1e-12


class Effects(MessagePart):
    """How the errors of cells go together; `docs/wire.md`, section 23, says what follows from it."""

    spreads: tuple[tuple[Annotated[Finite, Field(ge=0)], ...], ...] = Field(
        description="of each axis, how the errors of its values are spread over these; sums to 1"
    )
    variances: tuple[Annotated[Finite, Field(ge=0)], ...] = Field(
        description="of the effect of each set of axes but all of them, at the place whose binary digits say of each "
        "axis whether it is in the set, the last axis being the lowest digit"
    )

    @model_validator(mode="after")
    def _as_many_as_sets(self) -> Self:
        if len(self.variances) != 2 ** len(self.spreads) - 1:
            raise ValueError(f"{len(self.spreads)} axes have other sets than {len(self.variances)} but all of them")
        return self

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of values of each axis."""
        return tuple(map(len, self.spreads))

    @classmethod
    def of(cls, values: Sequence[FloatArray], totals: FloatArray) -> Self:
        """Make them from variances.

        values: those of the marginal of each axis, shape (size,).
        totals: summed variance of the effect of each set on the marginal of its axes, shape (2, ..., 2).
        """
        spreads = [_spread(each) for each in values]
        units = np.ones(())
        for spread in spreads:
            units = np.multiply.outer(units, [1.0, max(float((spread * (1 - spread)).sum()), _TINY)])
        return cls(
            spreads=tuple(tuple(map(_short, each.tolist())) for each in spreads),
            # That of no axis is 0, but for rounding.
            variances=(0.0, *map(_short, (totals / units).ravel()[1:-1].tolist())),
        )

    @classmethod
    def of_repeats(
        cls,
        deviations: FloatArray,
        marginals: Sequence[FloatArray],
        *,
        pairs: Sequence[tuple[tuple[int, int], FloatArray]] = (),
    ) -> Self:
        """Make them from repeated estimates.

        deviations: components of the covariance of the cells, shape (components, ...).
        pairs: those of two axes, ascending, by themselves; they count where they are the larger.
        """
        axes = range(deviations.ndim - 1)
        margins = [deviations.sum(axis=tuple(1 + other for other in axes if other != axis)) for axis in axes]
        totals = _totals(deviations, marginals)
        for of, each in pairs:
            place = tuple(int(axis in of) for axis in axes)
            totals[place] = max(totals[place], _totals(each, [marginals[axis] for axis in of])[1, 1])
        return cls.of([(each**2).sum(axis=0) for each in margins], totals)

    def of_marginal(self, kept: Sequence[int], marginals: Sequence[Sequence[float]]) -> FloatArray:
        """Return the variance of each value of some axes, ascending; of all, without the effect of all."""
        table = self._by_set[tuple(slice(None) if axis in kept else 0 for axis in range(len(self.spreads)))]
        for axis in kept:
            share, spread = np.array(marginals[axis]), np.array(self.spreads[axis])
            table = np.tensordot(table, np.stack([share**2, spread * (1 - spread)]), axes=(0, 0))
        return table

    def of_sum(self, weights: FloatArray, errors: FloatArray, marginals: Sequence[Sequence[float]]) -> float:
        """Return the variance of a weighted sum of cells.

        weights, errors: of each cell, with an axis for each attribute; the standard errors of the cells.
        """
        shown, alone = weights, np.ones(())
        for marginal, each in zip(marginals, self.spreads, strict=True):
            spread = np.array(each)
            own = np.sqrt(_along(spread, shown.ndim)) * (shown - np.tensordot(spread, shown, axes=(0, 0)))
            whole = np.tensordot(np.array(marginal), shown, axes=(0, 0))[None]
            shown = np.moveaxis(np.concatenate([whole, own]), 0, -1)
            alone = np.multiply.outer(alone, spread * (1 - spread))
        squares, taken = by_set(shown**2), weights**2
        beyond = np.maximum(errors**2 - self.of_marginal(range(weights.ndim), marginals), 0.0)
        ratio = float((taken * beyond).sum()) / max(float((taken * alone).sum()), _TINY)
        return float((squares * self._by_set).sum()) + float(squares.flat[-1]) * ratio

    @property
    def _by_set(self) -> FloatArray:
        return np.array([*self.variances, 0.0]).reshape((2,) * len(self.spreads))


def by_set(table: FloatArray) -> FloatArray:
    """Add up a table along each axis but for its first place, which stays apart; shape (2, ..., 2)."""
    for _ in range(table.ndim):
        table = np.stack([table[0], table[1:].sum(axis=0)], axis=-1)
    return table


def _totals(deviations: FloatArray, marginals: Sequence[FloatArray]) -> FloatArray:
    """Return the summed variance of the effect of each set on the marginal of its axes, shape (2, ..., 2)."""
    shown = deviations
    for marginal in marginals:
        whole = shown.sum(axis=1, keepdims=True)
        own = shown - _along(marginal, shown.ndim - 1) * whole
        shown = np.moveaxis(np.concatenate([whole, own], axis=1), 1, -1)
    return by_set((shown**2).sum(axis=0))


def _along(numbers: FloatArray, dimensions: int) -> FloatArray:
    """Shape numbers so that they multiply the first of so many axes."""
    return numbers.reshape(-1, *[1] * (dimensions - 1))


def _spread(variances: FloatArray) -> FloatArray:
    """Return the distribution s whose s (1 - s) are in proportion to some variances, as nearly as there is one."""
    spread = np.full(len(variances), 1.0 / len(variances))
    if len(variances) == 2 or not variances.any():
        return spread  # Both values always have the same error.
    for _ in range(_PASSES):
        spread = variances / np.maximum(1.0 - spread, 1.0 / len(variances))
        spread /= spread.sum()
    return spread


def _short(number: float) -> float:
    return float(f"{number:.{_DIGITS}g}")
