"""At how many points of a figure a comparison is right, and of how many."""

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from tests.benchmarks.papers.figure import Results
from tests.benchmarks.papers.study import Row

#: Counts the points at which something is right, and all of them.
Count = Callable[["Results"], tuple[int, int]]


class Of(NamedTuple):
    """A metric of a form in a study, as a number for each series and each varied value."""

    study: str
    form: str
    metric: str

    def numbers(self, results: Results) -> dict[tuple[str, float], float]:
        """Return the numbers by series and varied value."""
        return {
            (row["series"], row["at"]): row[self.metric]
            for row in results.get(self.study, ())
            if row["form"] == self.form and self.metric in row
        }


def total(*counts: Count) -> Count:
    """Add up counts."""

    def counted(results: Results) -> tuple[int, int]:
        found = [count(results) for count in counts]
        return sum(right for right, _ in found), sum(of for _, of in found)

    return counted


def points(
    first: Of, second: Of, right: Callable[[float, float], bool], *, where: Callable[[float], bool] = lambda _: True
) -> Count:
    """Count the points at which two forms compare as they should, where the varied value is as it should."""

    def counted(results: Results) -> tuple[int, int]:
        one, other = first.numbers(results), second.numbers(results)
        shared = [key for key in one if key in other and where(key[1])]
        return sum(right(one[key], other[key]) for key in shared), len(shared)

    return counted


def smaller(first: Of, second: Of, *, slack: float = 1.0, where: Callable[[float], bool] = lambda _: True) -> Count:
    """Count the points at which one form has less than another, or at most `slack` times as much."""
    return points(first, second, lambda one, other: one <= slack * other, where=where)


def between(least: Of, middle: Of, most: Of) -> Count:
    """Count the points at which a form is between two others, in either order."""

    def counted(results: Results) -> tuple[int, int]:
        low, this, high = (each.numbers(results) for each in (least, middle, most))
        shared = [key for key in this if key in low and key in high]
        return sum(min(low[key], high[key]) <= this[key] <= max(low[key], high[key]) for key in shared), len(shared)

    return counted


def along(each: Of, right: Callable[[float, float], bool]) -> Count:
    """Count the steps from one varied value to the next, in which a form changes as it should."""

    def counted(results: Results) -> tuple[int, int]:
        numbers = each.numbers(results)
        steps = [
            right(before, after)
            for series in dict.fromkeys(series for series, _ in numbers)
            for before, after in pairwise([numbers[key] for key in sorted(numbers) if key[0] == series])
        ]
        return sum(steps), len(steps)

    return counted


def rising(each: Of) -> Count:
    """Count the steps in which a form rises."""
    return along(each, lambda before, after: after > before)


def falling(each: Of) -> Count:
    """Count the steps in which a form falls."""
    return along(each, lambda before, after: after < before)


def series(
    each: Of, first: str, second: str, right: Callable[[float, float], bool], *, study: str | None = None
) -> Count:
    """Count the varied values at which two series of a form compare as they should."""

    def counted(results: Results) -> tuple[int, int]:
        one = each.numbers(results)
        other = one if study is None else each._replace(study=study).numbers(results)
        shared = [at for name, at in one if name == first and (second, at) in other]
        return sum(right(one[first, at], other[second, at]) for at in shared), len(shared)

    return counted


def those(each: Of, right: Callable[[float], bool], *, where: Callable[[float], bool] = lambda _: True) -> Count:
    """Count the points at which a form has what it should."""

    def counted(results: Results) -> tuple[int, int]:
        found = [right(number) for (_, at), number in each.numbers(results).items() if where(at)]
        return sum(found), len(found)

    return counted


def cases(found: Iterable[bool]) -> Count:
    """Count what needs no measurement."""
    listed: Sequence[bool] = list(found)
    return lambda _: (sum(listed), len(listed))


def row_of(results: Results, study: str, form: str) -> Row:
    """Return the only row of a form."""
    (found,) = (row for row in results[study] if row["form"] == form)
    return found
