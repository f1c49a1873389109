"""Print tables of answers as text."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table as RichTable

from stream_ldp.cli.displays.plain import plain
from stream_ldp.digits import shown
from stream_ldp.printable import printable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from stream_ldp.client.table import Table

#: Columns whose numbers have the digits that the error allows.
_ERRORS = ("standard_error", "standard_error_at_most")
_NUMBERS = ("estimate", *_ERRORS, "low", "high", "raw")
#: Ending of the name of a column with the error of another one, such as `learnt_error`.
_ERROR = "_error"


def print_table(table: Table) -> None:
    """Print a table; in a pipe its lines are as long as they need be, with columns apart by two blanks."""
    console = Console(highlight=False)
    columns = [name for name in table.columns if not _same(table, name)]
    drawn = RichTable(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for name in columns:
        drawn.add_column(plain(name), justify="right" if name in _NUMBERS else "left", no_wrap=True)
    for row in table.rows:
        drawn.add_row(*(plain(_text(row, name)) for name in columns))
    first = table.rows[0]
    for name in table.columns:
        if name not in columns:
            console.print(printable(f"{name}: {_text(first, name)}"), markup=False, soft_wrap=True)
    print_whole(console, drawn)


def print_whole(console: Console, drawn: RichTable) -> None:
    """Print a drawn table, and cut nothing of it.

    In a pipe its lines are as long as they need be. At a terminal that is too narrow its columns move together, and
    words that still do not fit go on in the next line.
    """
    width = Console(width=10_000).measure(drawn).maximum
    if not console.is_terminal:
        console = Console(width=width, highlight=False)
    elif width > console.width and drawn.box is not None:
        drawn.padding = 0
        for column in drawn.columns:
            column.overflow = "fold"
    console.print(drawn)


def _same(table: Table, name: str) -> bool:
    """Decide whether a column of the window says the same in all rows, so that it is said once above them."""
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
