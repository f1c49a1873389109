"""The cells of a number: parts of its range, all of the same width; views report the user's cell.

Few cells hide what is within them, and of many cells each is mostly noise. The guideline of hybrid-dimensional grids
(Yang et al., 2020, section 4.5) weighs both for the grid of two numbers that g^2 cells make.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from stream_ldp.collection.values import labels_of_bins

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stream_ldp.questions.attributes import AskedAttribute

#: Least and most cells of a number: two of the most make a view of 256 cells.
MIN_CELLS, MAX_CELLS = 2, 16

#: alpha_2 of the guideline: what the cells of a grid hide, as a part of a range's share, times their number. Yang et
#: al. take .03, for users who are spread evenly within cells. Here the dependence is interpolated between cells, and
#: its noise is shrunk: of normal, bimodal and Adult's numbers, 1.4 times as many cells had the least error.
_HIDDEN = 0.06

#: Digits of the edges in labels.
_DIGITS = 6


def guideline(users: float, *, epsilon: float) -> int:
    """Return the number of cells of each number with which ranges of two have the least error.

    It is sqrt(2 alpha_2 (e^eps - 1) sqrt(n / e^eps)), the g_2 of Yang et al. for n users of a view, as an even
    number, so that there is an edge in the middle of the range.

    users: those of a window who report one view of two attributes.
    """
    found = math.sqrt(2 * _HIDDEN * math.expm1(epsilon) * math.sqrt(users / math.exp(epsilon)))
    return min(max(2 * round(found / 2), MIN_CELLS), MAX_CELLS)


def cells_of(attribute: AskedAttribute, cells: int) -> int:
    """Return the number of values of an attribute, of a number its cells, of which each has two whole steps at least.

    So no cell is empty, wherever a double that is nearly an edge is put.

    cells: of a number that may be any of its range.
    """
    if attribute.range is None:
        return len(attribute.labels)
    return min(cells, max(MIN_CELLS, attribute.steps // 2)) if attribute.steps else cells


@dataclass(frozen=True, kw_only=True)
class ViewAxis:
    """An attribute as views have it, with a label for each value; the values of a number are its cells.

    attribute: has a list of values, or a range.
    size: number of values.
    """

    attribute: AskedAttribute
    size: int

    @property
    def name(self) -> str:
        """Name of the attribute."""
        return self.attribute.name

    @property
    def edges(self) -> NDArray[np.float64] | None:
        """Bounds of the cells of a number, ascending, shape (size + 1,); None of a list.

        They are midway between two numbers where these are whole steps, so that no double is nearly a bound.
        """
        if self.attribute.range is None:
            return None
        edges = np.linspace(*self.attribute.bounds, self.size + 1)
        if (numbers := self.numbers) is not None:
            first = np.searchsorted(self.holding(numbers), np.arange(1, self.size))
            edges[1:-1] = (numbers[first - 1] + numbers[first]) / 2
        return edges

    @property
    def numbers(self) -> NDArray[np.float64] | None:
        """The numbers of a range with a step, ascending; None where they may be any, and of a list."""
        if self.attribute.step is None:
            return None
        even = np.linspace(*self.attribute.bounds, self.attribute.steps + 1)
        numbers: NDArray[np.float64] = self.attribute.stepped(even)
        return numbers

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The values of a list, or cells as intervals, such as [0,25)."""
        if self.edges is None:
            return self.attribute.labels
        return tuple(labels_of_bins([float(f"{edge:.{_DIGITS}g}") for edge in self.edges.tolist()]))

    def holding(self, column: NDArray[Any]) -> NDArray[np.int64]:
        """Return the numbers of users' values; an edge is in the upper of two cells, but for the last.

        column: the numbers of the values of a list, or the numbers of a range.
        """
        if self.attribute.range is None:
            return column
        places = (self.attribute.scaled(column) + 1) / 2 * self.size
        return np.minimum(np.floor(places), self.size - 1).astype(np.int64)
