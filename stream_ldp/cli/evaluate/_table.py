"""This module reads the columns of the tables that evaluations are given."""

from __future__ import annotations

import csv
import difflib
from typing import TYPE_CHECKING, TextIO

from stream_ldp.cli.inputs.text_file import text_of
from stream_ldp.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["read_columns"]


def read_columns(path: Path, names: Sequence[str]) -> list[tuple[str, ...]]:
    """Read the columns of these names from a CSV file with a header line, gzipped if its name ends in .gz.

    Raises:
        DataError: the file cannot be read, lacks a column or has no records; the message never repeats a value.
    """
    with text_of(path) as file:
        return _columns(file, path, names)


def _columns(file: TextIO, path: Path, names: Sequence[str]) -> list[tuple[str, ...]]:
    lines = csv.reader(file, strict=True)
    try:
        header = next(lines, None)
        if not header:
            raise DataError(f"{path}: no first line with the names of columns, and then one record a line")
        for name in names:
            if name not in header:
                # The message leaves out the other names: without a header line they would be somebody's values.
                close = difflib.get_close_matches(name, header, n=1)
                hint = f"; did you mean {close[0]!r}?" if close else ""
                raise DataError(f"{path}: the first line has no column {name!r}{hint}")
            if header.count(name) > 1:
                raise DataError(f"{path}: two columns have the name {name!r}")
        places = [header.index(name) for name in names]
        records = []
        for values in lines:
            if not values:
                continue  # an empty line, as many programs leave at the end
            if len(values) != len(header):
                raise DataError(f"{path}:{lines.line_num}: {len(values)} values for {len(header)} columns")
            records.append([values[place] for place in places])
    except csv.Error as error:
        raise DataError(f"{path}:{lines.line_num}: not CSV: {error}") from error
    if not records:
        raise DataError(f"{path}: no records below the header line")
    return list(zip(*records, strict=True))
