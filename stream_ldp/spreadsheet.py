"""Lines of CSV in which a spreadsheet evaluates nothing."""

import csv
import io
import re
from collections.abc import Iterable
from datetime import datetime
from typing import Any

#: The beginnings of what a spreadsheet takes for a formula; and of what it takes for text, whatever comes after it.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "'")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


def csv_line(cells: Iterable[Any]) -> str:
    """Write a line of CSV; times are ISO 8601, and what is not known is empty.

    Text that a spreadsheet would take for a formula has an apostrophe before it, as has text that begins with one.
    """
    line = io.StringIO()
    # With this end, a carriage return within a cell is put in quotes as well.
    csv.writer(line, lineterminator="\r\n").writerow(map(_cell, cells))
    return line.getvalue().removesuffix("\r\n") + "\n"


def _cell(value: Any) -> Any:
    """Write a value so that a spreadsheet evaluates nothing of it."""
    value = plain(value)
    if isinstance(value, str) and value.startswith(_FORMULA) and not _NUMBER.fullmatch(value):
        return f"'{value}"
    return value


def plain(value: Any) -> Any:
    """Return a value as text formats have it: a time as text."""
    return value.isoformat() if isinstance(value, datetime) else value
