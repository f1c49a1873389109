"""Print tables of answers, and lines that others have written, as text."""

from __future__ import annotations

import os
import re
from datetime import datetime
from typing import TYPE_CHECKING, Any

from rich.console import Console, RenderableType
from rich.table import Column
from rich.table import Table as RichTable
from rich.text import Text

from stream_ldp.digits import shown
from stream_ldp.printable import printable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from stream_ldp.client.table import Table


def plain(text: str, **form: Any) -> Text:
    """Make one line of text that is shown as it is, without markup, and with what a terminal would obey spelled out.

    form: the arguments of `rich.text.Text`.
    """
    return Text(printable(text), **form)


#: Columns whose numbers have the digits that the error allows.
_ERRORS = ("standard_error", "standard_error_at_most")
_NUMBERS = ("estimate", *_ERRORS, "low", "high", "raw")
#: Ending of the name of a column with the error of another one, such as `learnt_error`.
_ERROR = "_error"
#: Characters from which on a word may be broken: times and numbers are shorter, fingerprints are longer.
_LONG_WORD = 24


def print_table(table: Table) -> None:
    """Print a table; in a pipe its lines are as long as they need be, with columns apart by two blanks."""
    console = Console(highlight=False)
    columns = [name for name in table.columns if not _same(table, name)]
    drawn = RichTable(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for name in columns:
        drawn.add_column(plain(name), justify="right" if name in _NUMBERS else "left")
    for row in table.rows:
        drawn.add_row(*(plain(_text(row, name)) for name in columns))
    first = table.rows[0]
    for name in table.columns:
        if name not in columns:
            console.print(printable(f"{name}: {_text(first, name)}"), markup=False, soft_wrap=True)
    print_whole(console, drawn)


def print_whole(console: Console, drawn: RichTable) -> None:
    """Print a drawn table, and cut no number of it.

    In a pipe its lines are as long as they need be, unless the environment says how many COLUMNS there are. Where it
    is too wide, its columns move together, and headings and texts go on in the next line. Columns that still have no
    room become a table below, which begins with the same columns.
    """
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console = Console(width=_width(drawn), highlight=False)
    for place, part in enumerate([drawn] if _width(drawn) <= console.width else _parts(drawn, console.width)):
        if place and part.box is None:
            console.print()
        console.print(part)


def _width(drawn: RichTable) -> int:
    """Return the width of a table without line breaks in its cells."""
    return Console(width=10_000).measure(drawn).maximum


def _parts(drawn: RichTable, width: int) -> list[RichTable]:
    """Return tables that fit a width, each with the names that its rows begin with and as many columns as fit."""
    columns = drawn.columns
    lead = next((place for place, each in enumerate(columns) if each.justify == "right"), 0)
    if not lead or _part(drawn, columns[: lead + 1], width) is None:
        lead = 1
    names, parts, taken = list(columns[:lead]), [], list(columns[:lead])
    for column in columns[lead:]:
        if len(taken) > lead and _part(drawn, [*taken, column], width) is None:
            parts.append(taken)
            taken = list(names)
        taken.append(column)
    parts.append(taken)
    tables = [_part(drawn, part, width) or _part(drawn, part, width, folds=True) for part in parts]
    found = [table for table in tables if table is not None]
    found[0].title = drawn.title
    return found


def _part(drawn: RichTable, columns: Sequence[Column], width: int, *, folds: bool = False) -> RichTable | None:
    """Return a table of some columns that is no wider than a width; None if there is no room for their words.

    folds: whether words may be broken where they do not fit.
    """
    part = RichTable(
        box=drawn.box,
        padding=0 if drawn.box is not None else (0, 1, 0, 0),
        pad_edge=drawn.pad_edge,
        show_header=drawn.show_header,
        title_justify=drawn.title_justify,
    )
    cells = [[_plain(cell) for cell in each.cells] for each in columns]
    least = [1 if folds else _least(each, column) for each, column in zip(cells, columns, strict=True)]
    widths = [max(map(len, [*each, _plain(column.header)])) for each, column in zip(cells, columns, strict=True)]
    for column in columns:
        part.add_column(column.header, justify=column.justify, overflow="fold")
    for row in zip(*(each.cells for each in columns), strict=True):
        part.add_row(*row)
    for _ in range(_width(part) - width):
        widest = max(range(len(widths)), key=lambda place: widths[place] if widths[place] > least[place] else 0)
        if widths[widest] <= least[widest]:
            return None
        widths[widest] -= 1
    for column, most in zip(part.columns, widths, strict=True):
        column.width = most
        column.header = Text("\n".join(_heading(_plain(column.header), most)))
    return part


def _least(cells: Sequence[str], column: Column) -> int:
    """Return the least width of a column that breaks no word of it but very long ones, as fingerprints are."""
    words = [word for cell in cells for word in cell.split()]
    return max([1, *(min(len(word), _LONG_WORD) for word in words), *map(len, _pieces(_plain(column.header)))])


def _heading(heading: str, width: int) -> list[str]:
    """Return the lines of a heading, each of as many of its pieces as fit a width."""
    lines = [""]
    for piece in _pieces(heading):
        if lines[-1] and len(lines[-1]) + len(piece.rstrip()) > width:
            lines.append("")
        lines[-1] += piece
    return [line.strip() for line in lines]


def _pieces(heading: str) -> list[str]:
    """Return the pieces of a heading, which ends a line only behind a blank, a dot or an underscore."""
    return re.split(r"(?<=[_.\s])(?=.)", heading)


def _plain(cell: RenderableType) -> str:
    return cell.plain if isinstance(cell, Text) else str(cell)


def _same(table: Table, name: str) -> bool:
    """Decide whether a column is the same in all rows, so that it is printed once above them."""
    said = ("collection", "series", "window_start", "window_end", "final", "reports", "epoch")
    return name in said and len({row.get(name) for row in table.rows}) == 1


def _text(row: Mapping[str, Any], name: str) -> str:
    value = row.get(name)
    if name in _NUMBERS:
        return shown(value, next((row[each] for each in _ERRORS if row.get(each) is not None), None))
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        own = row.get(name if name.endswith(_ERROR) else f"{name}{_ERROR}")
        return shown(value, own) if own is not None else f"{value:.2g}"
    return f"{value:,}" if isinstance(value, int) and name == "reports" else "" if value is None else str(value)
