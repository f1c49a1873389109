"""Marginals and conditionals of a joint distribution, with what is known of their errors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from stream_ldp.collection.located import suggestion
from stream_ldp.digits import shown
from stream_ldp.errors import ParameterError
from stream_ldp.message_part import MessagePart
from stream_ldp.pipeline.cells import LEVEL, Cell, normal_quantile


class Axis(MessagePart):
    """One attribute of the joint distribution, its values in the order of the arrays' axis."""

    attribute: str
    values: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class DerivedDistribution:
    """The distribution of some attributes, alone or for each combination of values of given others.

    of: the attributes, one an axis.
    given: those that are given, whose axes come first.
    probability: float64; sums to 1 over the axes of `of`, and is NaN where the given values have no probability.
    standard_error: of each probability, same shape. Where attributes are summed over, the errors of the cells are
        correlated in a way that an estimate does not contain, and this is an upper bound: the sum of the errors of
        the cells, or of all other cells if that is less.
    bound: whether it is such an upper bound.
    """

    of: tuple[Axis, ...]
    given: tuple[Axis, ...]
    probability: NDArray[np.float64]
    standard_error: NDArray[np.float64]
    bound: bool

    def __str__(self) -> str:
        """Return a table: the values of each cell, its probability, and its confidence interval of 95 %."""
        heads = [*(axis.attribute for axis in (*self.given, *self.of)), "probability", "95 % interval"]
        rows = [heads]
        for cell, low, high in zip(self.cells(), *(bound.ravel() for bound in self.interval()), strict=True):
            numbers = (shown(float(number), cell.standard_error) for number in (cell.estimate, low, high))
            probability, low_text, high_text = numbers
            rows.append([*cell.names, probability, f"{low_text} to {high_text}"])
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)

    def interval(self, level: float = LEVEL) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the least and the largest probability of each cell's interval, both of the shape of `probability`.

        level: probability with which an interval holds the true number; at least so where `bound` is set.

        Raises:
            ParameterError: the level is not between 0 and 1.
        """
        spread = normal_quantile(level) * self.standard_error
        low, high = self.probability - spread, self.probability + spread
        return low.clip(0.0, 1.0), high.clip(0.0, 1.0)

    def cells(self) -> Iterator[Cell]:
        """Iterate over the probabilities, the last axis fastest."""
        axes = (*self.given, *self.of)
        attributes = [axis.attribute for axis in axes]
        named = product(*(axis.values for axis in axes))
        numbers = zip(named, self.probability.ravel().tolist(), self.standard_error.ravel().tolist(), strict=True)
        for names, probability, error in numbers:
            yield Cell(
                labels=dict(zip(attributes, names, strict=True)),
                estimate=probability,
                standard_error=error,
                bound=self.bound,
                names=names,
            )


def distribution(
    axes: Sequence[Axis],
    joint: NDArray[np.float64],
    errors: NDArray[np.float64],
    *,
    of: Sequence[str],
    given: Sequence[str] = (),
) -> DerivedDistribution:
    """Derive the distribution of some attributes from a joint one.

    axes: those of the joint distribution.
    errors: standard errors of its cells, same shape.
    of: names of the attributes, in the order of the result's axes.
    given: names of those that are given; none for a marginal.

    Raises:
        ParameterError: an attribute is not one of the axes, is named twice, or there is none.
    """
    names = [axis.attribute for axis in axes]
    wanted = [*given, *of]
    if not of:
        raise ParameterError("a distribution needs an attribute that it is of")
    for name in wanted:
        if name not in names:
            raise ParameterError(f"{name!r} is not an attribute of this estimate{suggestion(name, names)}")
        if wanted.count(name) > 1:
            raise ParameterError(f"attribute {name!r} is named twice")
    kept = [names.index(name) for name in wanted]
    order = [*kept, *(place for place in range(len(names)) if place not in kept)]
    rest = tuple(range(len(kept), len(names)))
    of_places = tuple(range(len(given), len(kept)))
    cells, spread = joint.transpose(order), errors.transpose(order)
    probability, error = cells.sum(axis=rest), spread.sum(axis=rest)
    if given:
        total = probability.sum(axis=of_places, keepdims=True)
        others = error.sum(axis=of_places, keepdims=True) - error
        with np.errstate(invalid="ignore", divide="ignore"):
            probability = probability / total
            # p(a | b) = p(a, b) / p(b), to the first order in the errors of the cells with b, whatever their
            # correlation.
            error = ((1 - probability) * error + probability * others) / total
    elif rest:
        error = np.minimum(error, spread.sum() - error)
    return DerivedDistribution(
        of=tuple(axes[names.index(name)] for name in of),
        given=tuple(axes[names.index(name)] for name in given),
        probability=probability,
        standard_error=error,
        bound=bool(given or rest),
    )
