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
from stream_ldp.records.effects import Effects


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
    standard_error: of each probability, same shape. Of an answer without `effects`, where attributes are summed over,
        it is an upper bound: the sum of the errors of the cells, or of all other cells if that is less.
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
    effects: tuple[Effects, Sequence[Sequence[float]]] | None = None,
) -> DerivedDistribution:
    """Derive the distribution of some attributes from a joint one.

    axes: those of the joint distribution.
    errors: standard errors of its cells, same shape.
    of: names of the attributes, in the order of the result's axes.
    given: names of those that are given; none for a marginal.
    effects: how the errors of the cells go together, with the marginals of all axes; None if that is not known.

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
    probability = cells.sum(axis=rest)
    total = probability.sum(axis=of_places, keepdims=True) if given else np.ones(())
    with np.errstate(invalid="ignore", divide="ignore"):
        probability = probability / total
        if effects is None or not (given or rest):
            error = _most(probability, spread, rest=rest, of_places=of_places if given else ()) / total
        else:
            error = np.sqrt(_variance(probability, errors, *effects, kept=kept, given=len(given))) / total
            error = np.minimum(error, np.maximum(probability, 1.0 - probability))
    return DerivedDistribution(
        of=tuple(axes[names.index(name)] for name in of),
        given=tuple(axes[names.index(name)] for name in given),
        probability=probability,
        standard_error=error,
        bound=effects is None and bool(given or rest),
    )


def _most(
    probability: NDArray[np.float64],
    spread: NDArray[np.float64],
    *,
    rest: tuple[int, ...],
    of_places: tuple[int, ...],
) -> NDArray[np.float64]:
    """Return the most that errors can be, however those of cells go together; of conditionals, times the total.

    spread: standard errors of the cells, with the axes that are summed over last.
    of_places: axes of the result over which a conditional sums to 1; none for a marginal.
    """
    error: NDArray[np.float64] = spread.sum(axis=rest)
    if not of_places:
        return np.minimum(error, spread.sum() - error) if rest else error
    # p(a | b) = p(a, b) / p(b), to the first order in the errors of the cells with b.
    others: NDArray[np.float64] = error.sum(axis=of_places, keepdims=True) - error
    return (1 - probability) * error + probability * others


def _variance(
    probability: NDArray[np.float64],
    errors: NDArray[np.float64],
    effects: Effects,
    marginals: Sequence[Sequence[float]],
    *,
    kept: Sequence[int],
    given: int,
) -> NDArray[np.float64]:
    """Return the variance of a marginal, or of a conditional times the probability of what is given.

    errors: of the cells, with all axes in their order.
    kept: axes of the result, those that are given first.
    given: how many are.
    """

    def of_marginal(axes: Sequence[int]) -> NDArray[np.float64]:
        found = effects.of_marginal(sorted(axes), marginals)
        if len(axes) == errors.ndim:
            found = np.maximum(found, errors**2)
        return found.transpose([sorted(axes).index(axis) for axis in axes])

    found = of_marginal(kept)
    if not given:
        return found
    # p(a | b) = p(a, b) / p(b), to the first order; the effects that p(b) has are in p(a, b) as the share of a.
    whole, share = of_marginal(kept[:given]), np.ones(())
    for axis in kept[given:]:
        share = np.multiply.outer(share, marginals[axis])
    whole = whole.reshape(whole.shape + (1,) * share.ndim)
    return np.maximum(found + (probability - 2 * share) * probability * whole, 0.0)
