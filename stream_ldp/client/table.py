"""Turn answers into tables: text in CSV or JSON, and, with the extra `analysis`, pandas and Parquet."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from html import escape
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Any

from stream_ldp.errors import ParameterError
from stream_ldp.extras import imported
from stream_ldp.pipeline.answer import Status
from stream_ldp.pipeline.cells import LEVEL, Cell
from stream_ldp.pipeline.difference import differences
from stream_ldp.pipeline.selection import EVERYTHING, Selection
from stream_ldp.quantity import quantity
from stream_ldp.spreadsheet import csv_line, plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from stream_ldp.pipeline.answer import Answer

#: The most bins of a distribution that is shown in brief; one of fewer points is shown whole.
_MOST_BINS = 12

#: Part of a bin that a number may be off an edge, for the rounding of decimals, to be at it.
_OFF = 1e-9

#: The most rows that a notebook shows of a table.
_NOTEBOOK_ROWS = 60


@dataclass(frozen=True, slots=True)
class Table:
    """A table of answers: a row for each number, with its window, what it is about, and how far to trust it.

    rows: values by column. Every row has `collection`, `series`, `window_start` and `window_end` (event time, aware,
        UTC), `final` and `reports`, and with several regions `regions`, what each has counted. Then come the columns
        of what the number is about, `estimate`, its `standard_error`, or `standard_error_at_most` where only a bound
        is known, and `low` and `high`, the ends of its interval. A number that is not known is None.
    """

    rows: tuple[Mapping[str, Any], ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns, in the order of the rows: one that only later rows have is where they have it."""
        names: list[str] = []
        for row in dict.fromkeys(map(tuple, self.rows)):
            following = len(names)
            for name in reversed(row):
                if name in names:
                    following = names.index(name)
                else:
                    names.insert(following, name)
        return tuple(names)

    def to_csv(self) -> str:
        """Return the table as CSV with a header line; what is not known is empty, and times are ISO 8601.

        Text that a spreadsheet would take for a formula has an apostrophe before it: it begins with =, +, -, @, a tab
        or a carriage return, and is no number. So has text that begins with one: to drop one apostrophe at the
        beginning of a cell has the text again. Numbers stay as they are.
        """
        rows = ([row.get(name) for name in self.columns] for row in self.rows)
        return "".join(csv_line(cells) for cells in (self.columns, *rows))

    def to_json(self) -> str:
        """Return the table as a JSON list of objects, one a line; times are ISO 8601."""
        lines = [
            json.dumps({name: plain(row.get(name)) for name in self.columns}, ensure_ascii=False) for row in self.rows
        ]
        return "[" + ",\n ".join(lines) + "]\n"

    def to_html(self) -> str:
        """Return the table as HTML, with every text escaped."""
        head = "".join(f"<th>{escape(name)}</th>" for name in self.columns)
        rows = "".join(
            f"<tr>{''.join(f'<td>{escape(_shown(row.get(name)))}</td>' for name in self.columns)}</tr>"
            for row in self.rows
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"

    def _repr_html_(self) -> str:
        """Show it in a notebook, its first rows only."""
        more = len(self.rows) - _NOTEBOOK_ROWS
        note = f"<p>and {quantity(more, 'more row')}</p>" if more > 0 else ""
        return Table(self.rows[:_NOTEBOOK_ROWS]).to_html() + note

    def to_polars(self) -> Any:
        """Return the table as a `polars.DataFrame`.

        Raises:
            MissingExtra: polars or pyarrow is not installed.
        """
        return imported("polars", extra="analysis").from_arrow(self.to_arrow())

    def to_pandas(self) -> Any:
        """Return the table as a `pandas.DataFrame`.

        Raises:
            MissingExtra: pandas is not installed.
        """
        pandas = imported("pandas", extra="analysis")
        return pandas.DataFrame([dict(row) for row in self.rows], columns=list(self.columns))

    def to_arrow(self) -> Any:
        """Return the table as a `pyarrow.Table`.

        Raises:
            MissingExtra: pyarrow is not installed.
        """
        arrow = imported("pyarrow", extra="analysis")
        return arrow.table({name: [row.get(name) for row in self.rows] for name in self.columns})

    def to_parquet(self, path: str | Path) -> None:
        """Write the table to a Parquet file.

        Raises:
            MissingExtra: pyarrow is not installed.
            OSError: the file cannot be written.
        """
        table = self.to_arrow()
        imported("pyarrow.parquet", extra="analysis").write_table(table, str(path))


def _shown(value: Any) -> str:
    return "" if value is None else f"{value:.4g}" if isinstance(value, float) else str(plain(value))


def table_of(
    answers: Iterable[Answer],
    *,
    selection: Selection = EVERYTHING,
    level: float = LEVEL,
    brief: bool = False,
) -> Table:
    """Return the numbers of some answers as a table.

    selection: what of each answer is wanted. Answers that do not have it are left out if others do.
    level: probability with which an interval from `low` to `high` holds the true number.
    brief: whether the many points of a distribution are put together to a few bins of round numbers.

    Raises:
        ParameterError: the level is not between 0 and 1, or no answer has such a distribution.
    """
    rows: list[dict[str, Any]] = []
    refused: dict[str, ParameterError] = {}
    for answer in answers:
        try:
            cells = list(selection.cells(answer))
            rows += _rows(answer, list(_brief(answer, cells)) if brief else cells, level=level)
        except ParameterError as error:
            refused.setdefault(answer.series, error)
    if refused and not rows:
        first, *others = refused.values()
        raise ParameterError("\n".join(f"{name}: {error}" for name, error in refused.items())) if others else first
    return Table(tuple(rows))


def differences_of(answers: Iterable[Answer], *, selection: Selection, level: float = LEVEL) -> Table:
    """Return the differences of the last from the first answer of each series, with intervals and p-values.

    selection: what of each answer is wanted.
    level: see `table_of`.

    Raises:
        ParameterError: see `differences`; or no series has two answers.
    """
    rows: list[dict[str, Any]] = []
    series: dict[str, list[Answer]] = {}
    for answer in answers:
        if answer.status is Status.ANSWERED:
            series.setdefault(answer.series, []).append(answer)
    for found in series.values():
        cells = list(differences(found[0], found[-1], selection)) if len(found) > 1 else []
        since = {"since": _time(found[0].window.start_ms)}
        rows += [since | row for row in _rows(found[-1], cells, level=level)] if cells else []
    if not rows:
        raise ParameterError("a difference needs two answers with the same numbers: there are none")
    return Table(tuple(rows))


def _brief(answer: Answer, cells: Sequence[Cell]) -> Iterator[Cell]:
    """Put the points of distributions, which have no names, together to bins of round numbers."""
    for attribute, points in groupby(cells, key=lambda cell: None if cell.names else cell.labels.get("attribute")):
        found = list(points)
        if attribute is None or len(found) <= _MOST_BINS:
            yield from found
            continue
        numbers = [float(cell.labels["value"]) for cell in found]
        for low, high in pairwise(_round_edges(numbers[0], numbers[-1])):
            # Users at an edge are in the bin that begins there, or at the end of the range, and in no other.
            share, *_ = answer.between(low, high, of=[str(attribute)], below=high < numbers[-1])
            yield share


def _round_edges(least: float, largest: float) -> list[float]:
    """Return round numbers around two: multiples of 1, 2 or 5 of a power of ten, for at most `_MOST_BINS` bins."""
    rough = (largest - least) / (_MOST_BINS - 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = power * next(each for each in (1, 2, 5, 10) if each * power >= rough)
    # A number that rounding has moved from an edge is at it.
    first, last = math.floor(least / step + _OFF), math.ceil(largest / step - _OFF)
    return [float(f"{number * step:.12g}") for number in range(first, last + 1)]


def _rows(answer: Answer, cells: Sequence[Cell], *, level: float) -> Iterator[dict[str, Any]]:
    window = {
        "collection": answer.collection,
        "series": answer.series,
        "window_start": _time(answer.window.start_ms),
        "window_end": _time(answer.window.end_ms),
        "final": answer.final,
        "reports": answer.reports,
    }
    if answer.sources is not None:
        window["regions"] = "; ".join(map(str, answer.sources))
    if not cells:
        yield window
    for cell in cells:
        yield window | _columns(cell, level=level, taken=window)


def _columns(cell: Cell, *, level: float, taken: Iterable[str]) -> dict[str, Any]:
    error = "standard_error_at_most" if cell.bound else "standard_error"
    low, high = cell.interval(level) or (None, None)
    numbers = {
        "estimate": None if math.isnan(cell.estimate) else cell.estimate,
        error: None if cell.standard_error is None or math.isnan(cell.standard_error) else cell.standard_error,
        "low": low,
        "high": high,
        **({} if cell.raw is None else {"raw": cell.raw}),
        **cell.others,
    }
    names = {*taken, *numbers}
    # An attribute may have the name of a column.
    return {
        (f"{name} (attribute)" if name in names else name): value for name, value in cell.labels.items()
    } | numbers


def _time(time_ms: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=time_ms)
