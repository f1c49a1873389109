"""The cells of an answer: its numbers one by one, each with what it is about and how far to trust it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Any

from stream_ldp.errors import ParameterError

#: What distinguishes the cells of answers with one target: their group and names.
CellKey = tuple[str, tuple[str, ...]]

#: Sums over some users of what cells are about, by the target of their answer and their key.
Totals = Mapping[tuple[str, CellKey], float]

#: Level of an interval, where none is asked for.
LEVEL = 0.95


@dataclass(frozen=True, kw_only=True, slots=True)
class Cell:
    """One number of an answer.

    labels: what it is about, by the names of the columns of a table, such as {"bathing": "no", "mobility": "some"}.
    estimate: the number.
    standard_error: of the estimate, or an upper bound of it where `bound` says so; None where none is known.
    raw: the unbiased estimate, where the number itself is the nearest possible one; None where they are the same.
    range: the least and the largest number that it can be.
    bound: whether `standard_error` may be too large, but not too small.
    ends: returns the interval for a level, where it is not the normal one; None where it is.
    others: more numbers about the same, by the names of their columns.
    names: what it is about, as a display writes it; none for a number that a table has and a display leaves out.
    group: what all cells that a display shows together are about; empty where that is the whole answer.
    place: its place in a group that has an order of its own, such as the bins of a number; None in any other group.
    """

    labels: Mapping[str, str | int]
    estimate: float
    standard_error: float | None
    raw: float | None = None
    range: tuple[float, float] = (0.0, 1.0)
    bound: bool = False
    ends: Callable[[float], tuple[float, float]] | None = None
    others: Mapping[str, Any] = field(default_factory=dict)
    names: tuple[str, ...] = ()
    group: str = ""
    place: int | None = None

    @property
    def key(self) -> CellKey:
        """What distinguishes it from the other cells of its answer, and finds its true number."""
        return self.group, self.names

    def interval(self, level: float = LEVEL) -> tuple[float, float] | None:
        """Return the interval that holds the true number with a probability of about `level`.

        It is the normal one, estimate +- z * standard error around the unbiased estimate, within the possible range,
        unless `ends` has another. None where no standard error is known, or no estimate.

        Raises:
            ParameterError: the level is not between 0 and 1.
        """
        z = normal_quantile(level)
        if self.standard_error is None or math.isnan(self.estimate):
            return None
        if self.ends is not None:
            return self.ends(level)
        centre, (least, largest) = self.estimate if self.raw is None else self.raw, self.range
        spread = z * self.standard_error
        return min(max(centre - spread, least), largest), max(min(centre + spread, largest), least)


def normal_quantile(level: float) -> float:
    """Return the number z for which a standard normal variable is within +-z with a probability of `level`.

    Raises:
        ParameterError: the level is not between 0 and 1.
    """
    if not 0.0 < level < 1.0:
        raise ParameterError(f"an interval needs a level between 0 and 1, such as 0.95; got {level:g}")
    return NormalDist().inv_cdf((1.0 + level) / 2.0)


def part_of_range(
    attribute: str, bounds: tuple[float, float], low: float, high: float, *, stepped: bool
) -> tuple[float, float]:
    """Return the part of a range of numbers that is within the bounds of an attribute.

    stepped: whether users have some numbers alone, so that one number is a range.

    Raises:
        ParameterError: the numbers are in the wrong order, or are one number that has no users; or there is no part.
    """
    if not low <= high or (low == high and not stepped):
        one = ": one number alone has users only in a range with a `step`" if low == high else ""
        raise ParameterError(f"a range needs two numbers, the smaller one first; got {low:g},{high:g}{one}")
    least, largest = bounds
    within = max(low, least), min(high, largest)
    if within[0] > within[1] or (within[0] == within[1] and not stepped):
        raise ParameterError(
            f"{attribute!r} is from {least:g} to {largest:g}, and no number from {low:g} to {high:g}"
        )
    return within
