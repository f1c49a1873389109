"""Numbers among the attributes of a joint distribution, and the shares of users whose numbers are in ranges.

The joint distribution is of cells, each a part of the range, and the distribution of each number is known more finely
than that. Within a cell, each number is spread as its own distribution is, and the dependence is that of the cells
around: the ratio of the joint to the product of its margins is interpolated between the middles of cells. Then it is
fitted to the cells and to the numbers (iterative proportional fitting; Deming and Stephan, 1940).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Self

import numpy as np
from pydantic import Field, model_validator

from stream_ldp.message_part import Finite, MessagePart
from stream_ldp.pipeline.answer import Probability
from stream_ldp.pipeline.cells import part_of_range
from stream_ldp.pipeline.curve import Curve

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

#: Most parts of cells of all numbers together to which the joint is interpolated, and sweeps of its fit: it then
#: takes milliseconds.
_PARTS, _SWEEPS = 2**14, 10

#: Least share of a cell, below which nothing is known of how its users are spread.
_NOBODY = 1e-9

#: Digits after the point of what a message has of errors: 10^-7 takes 10^14 reports.
_ERROR_DIGITS = 7

#: Digits of what it has of shares.
_DIGITS = 9

#: Part of the range of a number that is just below another: more than a curve takes for the same number.
_JUST_BELOW = 1e-8

#: Most numbers of a message that say how the errors of cells go together, and those of a number within its cells.
_MOST_DEVIATIONS, _MOST_WITHIN = 4096, 1024

#: Standard deviation of what users of a part of a cell have otherwise than interpolation says, in units of the
#: difference to the cells next to it: 0.2 of normal and bimodal numbers, and 0.4 where numbers have gaps and peaks.
_WITHIN = 0.25


class NumberAxis(MessagePart):
    """An attribute that is a number, as an axis of cells."""

    attribute: str
    cells: tuple[Finite, ...] = Field(description="bounds of the cells, ascending; one more than the axis has values")
    edges: tuple[Finite, ...] = Field(
        description="numbers from the least to the largest, with all bounds of cells; twice where many share one"
    )
    below: tuple[Probability, ...] = Field(
        description="share of users below each edge, and of two equal edges at the second as well; linear between two"
    )
    deviations: tuple[tuple[Finite, ...], ...] = Field(
        default=(),
        description="components of the covariance of these shares within cells, given the joint distribution: 0 at "
        "the bounds of cells",
    )

    @model_validator(mode="after")
    def _as_many_of_each(self) -> Self:
        if len(self.cells) < 2 or not set(self.cells) <= set(self.edges):
            raise ValueError("the edges lack bounds of cells")
        return self._require_as_many("edges, shares and deviations", self.edges, self.below, *self.deviations)

    @classmethod
    def of(cls, attribute: str, cells: NDArray[np.float64], margin: NDArray[np.float64], curve: Curve) -> Self:
        """Make the axis of a number whose cells have these shares.

        cells: bounds, ascending, shape (cells + 1,).
        margin: share of users in each cell, shape (cells,).
        curve: the distribution of the number alone, whose shares may be others.
        """
        added = np.setdiff1d(cells, curve.edges)
        edges, (between, of_between) = np.concatenate([curve.edges, added]), curve.at(added)
        # Of equal edges, the one before a jump stays the first.
        order = edges.argsort(kind="stable")
        edges, below = edges[order], np.concatenate([curve.below, between])[order]
        off = np.concatenate([curve.deviations, of_between], axis=1)[:, order]
        # Users at a bound are in the upper of two cells, but for the last.
        first, last = np.searchsorted(edges, cells[:-1]), np.searchsorted(edges, cells[1:])
        last[-1] = len(edges) - 1
        cell = np.clip(np.searchsorted(cells, edges, side="right") - 1, 0, len(margin) - 1)
        low, high = edges[first][cell], edges[last][cell]
        even = (edges - low) / (high - low)
        # The first of two edges at a bound ends the cell before; its users are not in this one.
        held = (below[last] - below[first])[cell]
        part = np.where(held > _NOBODY, (below - below[first][cell]) / np.maximum(held, _NOBODY), even)
        moved = off - off[:, first][:, cell] - part * (off[:, last] - off[:, first])[:, cell]
        off = moved / np.maximum(held, _NOBODY)
        # No part is off by more than any share can be.
        spread = np.sqrt((off**2).sum(axis=0))
        most = np.sqrt(np.maximum(part * (1 - part), 0.0))
        off = off * np.where(spread > most, most / np.maximum(spread, _NOBODY), 1.0) * margin[cell]
        before = np.concatenate([[0.0], np.cumsum(margin)])
        return cls(
            attribute=attribute,
            cells=tuple(cells.tolist()),
            edges=tuple(edges.tolist()),
            below=tuple(np.clip(before[cell] + margin[cell] * part, 0.0, 1.0).round(_DIGITS).tolist()),
            deviations=tuple(map(tuple, leading(off, most=_MOST_WITHIN).tolist())),
        )

    def within(self, low: float, high: float, *, below: bool = False) -> tuple[float, float]:
        """Return the part of a range that is within that of the number; one number is a range where it has a `step`.

        below: whether it ends just below the larger number, so that users at it are left out.

        Raises:
            ParameterError: it has no part of it, or its ends are in the wrong order.
        """
        least, largest = self.cells[0], self.cells[-1]
        first, _ = part_of_range(self.attribute, (least, largest), low, high, stepped=self._stepped)
        return first, min(high - below * _JUST_BELOW * (largest - least), largest)

    def parts(self, low: float, high: float, *, finer: int = 1) -> NDArray[np.float64]:
        """Return the part of the users of each cell, or of its `finer` parts, whose number is from low to high."""
        bounds = self._bounds(finer)
        held, (inside, _) = self.shares(finer=finer), self._inside(low, high, bounds)
        first, last = (np.clip(end, bounds[:-1], bounds[1:]) for end in (low, high))
        even = (last - first) / np.diff(bounds)
        return np.where(held > _NOBODY, inside / np.maximum(held, _NOBODY), even)

    def shares(self, *, finer: int = 1) -> NDArray[np.float64]:
        """Return the share of users in each cell, or in each of its `finer` parts."""
        return np.diff(self.curve.at_bounds(self._bounds(finer))[0])

    def moved(self, low: float, high: float) -> NDArray[np.float64]:
        """Return what `parts` may be off by, shape (components, cells)."""
        _, moved = self._inside(low, high, np.array(self.cells))
        return moved / np.maximum(self.shares(), _NOBODY)

    @cached_property
    def _stepped(self) -> bool:
        """Whether users have some numbers alone: none are between two edges."""
        between = np.diff(self.below)[np.diff(self.edges) > 0]
        return bool((between <= _NOBODY).all())

    @cached_property
    def curve(self) -> Curve:
        """The share of users below each number, with its errors within cells."""
        found = np.reshape(self.deviations, (-1, len(self.edges)))
        return Curve(edges=np.array(self.edges), below=np.array(self.below), deviations=found)

    def _inside(
        self, low: float, high: float, bounds: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the share of users from low to high in each of some cells, and what it may be off by."""
        ends = np.clip([low, high], bounds[:-1, None], bounds[1:, None]).T
        (before, off_before), (after, off_after) = (self.curve.at(each) for each in ends)
        # Users at the larger number count in the cell that has it, and all those at the end in the last one.
        within = (bounds[:-1] <= high) & (high < bounds[1:])
        within[-1] = bounds[-2] <= high
        whole, off_whole = self.curve.at(ends[1], side="right")
        moved = np.where(within, off_whole, off_after) - off_before
        return np.where(within, whole, after) - before, moved

    def _bounds(self, finer: int) -> NDArray[np.float64]:
        cells = np.array(self.cells)
        steps = np.arange(finer) / finer
        return np.append((cells[:-1, None] + np.diff(cells)[:, None] * steps).ravel(), cells[-1])


def even_curve(cells: NDArray[np.float64], numbers: NDArray[np.float64] | None) -> Curve:
    """Return the curve of a number of which its cells alone are known: even.

    Within a cell, the share of users may fall to 0 at one of its ends, which is off by u (1 - u) at the part u.

    cells: bounds, ascending, shape (cells + 1,).
    numbers: the only ones that users may have, ascending; None if they may have any.
    """
    if numbers is None:
        edges = np.union1d(cells, (cells[1:] + cells[:-1]) / 2)
        below = (edges - edges[0]) / (edges[-1] - edges[0])
        even = Curve(edges=edges, below=below, deviations=np.zeros((0, len(edges))))
    else:
        even = Curve.of(numbers.tolist(), [1 / len(numbers)] * len(numbers), [], exact=[True] * len(numbers))
    bounds, _ = even.at_bounds(cells)
    cell = np.clip(np.searchsorted(cells, even.edges, side="right") - 1, 0, len(cells) - 2)
    held = np.diff(bounds)[cell]
    part = (even.below - bounds[cell]) / held
    return replace(even, deviations=(held * part * (1 - part))[None])


@dataclass(frozen=True, kw_only=True, slots=True)
class Box:
    """Ranges of some numbers of a joint distribution, and attributes whose values are kept apart.

    joint, errors: of each cell, with an axis for each attribute.
    deviations: components of the covariance of the cells, shape (components, ...); what they lack of the squared
        errors is independent.
    numbers: by axis, the number and the least and the largest of it.
    kept: axes whose values are kept apart, in the order of the result's; all others are summed over.
    """

    joint: NDArray[np.float64]
    errors: NDArray[np.float64]
    deviations: NDArray[np.float64]
    numbers: Mapping[int, tuple[NumberAxis, float, float]]
    kept: Sequence[int]

    def shares(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the share of users in the ranges for each combination of the kept values, and standard errors."""
        if not self.numbers and not self.kept:
            return np.ones(()), np.zeros(())
        weights = {axis: number.parts(low, high) for axis, (number, low, high) in self.numbers.items()}
        found = self._interpolated()
        squares = {axis: part**2 for axis, part in weights.items()}
        rest = np.maximum(self.errors**2 - (self.deviations**2).sum(axis=0), 0.0)
        variance = self._summed(rest, squares) + _WITHIN**2 * self._uneven(weights)
        for each in self.deviations:
            variance += self._summed(each, weights) ** 2
        for axis, (number, low, high) in self.numbers.items():
            for part in number.moved(low, high):
                variance += self._summed(self.joint, weights | {axis: part}) ** 2
        return found, np.sqrt(variance)

    def _summed(self, table: NDArray[np.float64], weights: Mapping[int, NDArray[np.float64]]) -> NDArray[np.float64]:
        """Add up a table, with weights along some axes."""
        for axis, weight in weights.items():
            table = table * _along(weight, axis, table.ndim)
        found: NDArray[np.float64] = _kept(table, self.kept)
        return found.transpose([sorted(self.kept).index(axis) for axis in self.kept])

    def _uneven(self, weights: Mapping[int, NDArray[np.float64]]) -> NDArray[np.float64]:
        """Return the squared share that users of cells move by who are in them as in one next to them.

        A range has a part of such users of the cells at its ends, of whom the share in all other ranges is taken to
        change within a cell as it does from there to the next ones.
        """
        if len({*self.numbers, *self.kept}) == 1:
            return np.zeros(())
        found: NDArray[np.float64] = np.zeros([self.joint.shape[axis] for axis in self.kept])
        for axis, part in weights.items():
            table = self.joint
            for other, weight in weights.items():
                if other != axis:
                    table = table * _along(weight, other, table.ndim)
            kept = [axis, *self.kept]
            table = _kept(table, kept).transpose([sorted(kept).index(each) for each in kept])
            held = _kept(self.joint, [axis])
            users = held.reshape([-1] + [1] * len(self.kept))
            share = table / np.maximum(users, _NOBODY)
            padded = np.pad(share, [(1, 1)] + [(0, 0)] * len(self.kept), mode="edge")
            changes = np.diff(padded, axis=0) ** 2
            found += np.tensordot(part * (1 - part) * held**2, (changes[1:] + changes[:-1]) / 2, axes=1)
        return found

    def _interpolated(self) -> NDArray[np.float64]:
        """Return the shares with the dependence interpolated within cells."""
        axes = sorted({*self.numbers, *self.kept})
        cells = _kept(self.joint, axes)
        if len(axes) == 1:
            return self._summed(self.joint, {axis: each.parts(*ends) for axis, (each, *ends) in self.numbers.items()})
        others = math.prod(size for axis, size in zip(axes, cells.shape, strict=True) if axis not in self.numbers)
        margins = [_kept(cells, [at]) for at in range(cells.ndim)]
        product = np.ones(())
        for margin in margins:
            product = np.multiply.outer(product, margin)
        found = np.where(product > 0, cells / np.where(product > 0, product, 1.0), 0.0)
        targets, finer = list(margins), [1] * cells.ndim
        for at, axis in enumerate(axes):
            if axis in self.numbers:
                size = cells.shape[at]
                finer[at] = max(1, int((_PARTS / others) ** (1 / len(self.numbers)) / size))
                found = np.moveaxis(np.tensordot(_between(size, finer[at]), found, axes=(1, at)), 0, at)
                # As fine as it is known, and as all cells together say.
                fine = self.numbers[axis][0].shares(finer=finer[at]).reshape(size, -1)
                held = fine.sum(axis=1, keepdims=True)
                fine = np.where(held > _NOBODY, fine / np.maximum(held, _NOBODY), 1 / finer[at])
                targets[at] = (fine * margins[at][:, None]).ravel()
        for at, target in enumerate(targets):
            found = found * _along(target, at, found.ndim)
        found = _fitted(found, cells, targets, finer)
        for at, axis in reversed(list(enumerate(axes))):
            if axis in self.numbers:
                number, low, high = self.numbers[axis]
                found = np.tensordot(found, number.parts(low, high, finer=finer[at]), axes=(at, 0))
            elif axis not in self.kept:
                found = found.sum(axis=at)
        left = [axis for axis in axes if axis not in self.numbers]
        return np.asarray(found).transpose([left.index(axis) for axis in self.kept])


def _kept(table: NDArray[np.float64], axes: Sequence[int]) -> NDArray[np.float64]:
    """Sum a table over all other axes."""
    found: NDArray[np.float64] = table.sum(axis=tuple(axis for axis in range(table.ndim) if axis not in axes))
    return found


def _along(weights: NDArray[np.float64], axis: int, dimensions: int) -> NDArray[np.float64]:
    """Shape weights so that they multiply a table along an axis."""
    return weights.reshape([-1 if each == axis else 1 for each in range(dimensions)])


def _between(size: int, finer: int) -> NDArray[np.float64]:
    """Return weights of the cells at the middle of each part of a cell, shape (size * finer, size)."""
    places = np.clip((np.arange(size * finer) + 0.5) / finer - 0.5, 0, size - 1)
    low = np.minimum(places.astype(np.int64), max(size - 2, 0))
    found = np.zeros((size * finer, size))
    rows = np.arange(size * finer)
    found[rows, low] = 1 - (places - low)
    found[rows, np.minimum(low + 1, size - 1)] += places - low
    return found


def _fitted(
    found: NDArray[np.float64],
    cells: NDArray[np.float64],
    targets: Sequence[NDArray[np.float64]],
    finer: Sequence[int],
) -> NDArray[np.float64]:
    """Fit a distribution over parts of cells to its cells and to the distribution of each axis."""
    shape = [each for size, parts in zip(cells.shape, finer, strict=True) for each in (size, parts)]
    inner = tuple(range(1, 2 * cells.ndim, 2))
    for _ in range(_SWEEPS):
        for at, target in enumerate(targets):
            sums = _kept(found, [at])
            found = found * _along(target / np.where(sums > 0, sums, 1.0), at, found.ndim)
        split = found.reshape(shape)
        sums = split.sum(axis=inner, keepdims=True)
        wanted = np.expand_dims(cells, inner) / np.where(sums > 0, sums, 1.0)
        found = (split * wanted).reshape(found.shape)
    return found


def leading(deviations: NDArray[np.float64], *, most: int = _MOST_DEVIATIONS) -> NDArray[np.float64]:
    """Return the largest components of the covariance of cells, with `most` numbers in all.

    deviations: components, shape (components, ...).
    """
    cells = deviations.reshape(len(deviations), math.prod(deviations.shape[1:]))
    _, values, vectors = np.linalg.svd(cells, full_matrices=False)
    kept = min(max(1, most // cells.shape[1]), int((values > values.max(initial=0.0) * 1e-6).sum()))
    found: NDArray[np.float64] = (values[:kept, None] * vectors[:kept]).round(_ERROR_DIGITS)
    return found
