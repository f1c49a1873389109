"""Figures: what was measured, arranged in panels of lines, and as tables."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tests.benchmarks.papers.study import Row

#: The rows of each study that was measured.
Results = Mapping[str, Sequence["Row"]]


class Point(NamedTuple):
    """A point of a line.

    mean, deviation: over the repeats; the standard deviation is 0 for what has none.
    over: whether the mean is the least that it can be, since it took too long.
    """

    x: float
    mean: float
    deviation: float = 0.0
    over: bool = False


@dataclass(frozen=True, kw_only=True)
class Line:
    """A line of a panel.

    colour: number of what is drawn, which has the same colour in all panels.
    form: `truth`, `published`, `shipped` or `other`, which each have a stroke.
    """

    name: str
    points: tuple[Point, ...]
    colour: int
    form: str


@dataclass(frozen=True, kw_only=True)
class Panel:
    """A plot of a figure.

    x, y: what the axes have, with their units.
    log_x, log_y: whether an axis is logarithmic.
    """

    title: str
    x: str
    y: str
    lines: tuple[Line, ...]
    log_x: bool = False
    log_y: bool = False


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table of a figure: a heading, and a line of cells for each row."""

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A figure of a paper.

    name: under which the command finds it, and of its plot.
    title: what the paper shows in it.
    studies: what it is made of.
    about: what it shows here, and where the forms differ from what the paper prints.
    panels: arranges the rows of the studies that there are.
    tables: the same in numbers; None for a table of each panel.
    commands: commands of a reader that measure some of it.
    """

    name: str
    title: str
    studies: tuple[str, ...]
    about: str
    panels: Callable[[Results], Sequence[Panel]]
    tables: Callable[[Results], Sequence[Table]] | None = None
    commands: tuple[str, ...] = ()

    def tabulated(self, results: Results) -> Sequence[Table]:
        """Return the numbers of the figure."""
        return self.tables(results) if self.tables else [table_of(panel) for panel in self.panels(results)]


class Drawn(NamedTuple):
    """How a form is drawn: the name of its line, its colour, and its form; see `Line`."""

    name: str
    colour: int
    form: str


def line(rows: Sequence[Row], *, form: str, metric: str, drawn: Drawn, series: str | None = None) -> Line:
    """Make a line of a metric of a form, over the values that vary; of the only series, unless one is named."""
    found = [row for row in rows if row["form"] == form and series in (None, row["series"]) and metric in row]
    return Line(
        name=drawn.name,
        points=tuple(
            Point(row["at"], row[metric], row.get(f"{metric}_sd", 0.0), bool(row.get("over", 0.0))) for row in found
        ),
        colour=drawn.colour,
        form=drawn.form,
    )


def table_of(panel: Panel) -> Table:
    """Return the numbers of a panel, a row for each line and a column for each place."""
    places = sorted({point.x for each in panel.lines for point in each.points})
    rows = []
    for each in panel.lines:
        at = {point.x: point for point in each.points}
        rows.append((each.name, *(shown(at[place]) if place in at else "" for place in places)))
    heads = (f"{panel.y}, at {panel.x}", *(f"{place:,.10g}" for place in places))
    return Table(title=panel.title, heads=heads, rows=tuple(rows))


def shown(point: Point) -> str:
    """Write a mean with its standard deviation, to as many digits as are good for it."""
    if point.over:
        return f"> {point.mean:g}"
    return f"{number(point.mean)} ± {number(point.deviation)}" if point.deviation else number(point.mean)


def number(value: float) -> str:
    """Write a number to three digits, at least as far as units."""
    return (
        f"{value:,.0f}"
        if abs(value) >= 100
        else f"{value:.3g}"
        if abs(value) >= 0.001 or not value
        else f"{value:.1e}"
    )
