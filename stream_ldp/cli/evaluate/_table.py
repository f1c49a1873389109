"""This module reads the columns of the tables that evaluations are given."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer

from stream_ldp.cli.evaluate._inputs import ordered
from stream_ldp.cli.inputs.table import read_rows
from stream_ldp.cli.progress import watched
from stream_ldp.collection.values import bin_of, number_of, text_of
from stream_ldp.errors import DataError
from stream_ldp.quantity import quantity

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from stream_ldp.cli.inputs.table import Binning

__all__ = ["MISSING", "MissingInTable", "coded_columns", "read_columns"]


class MissingInTable(StrEnum):
    """What becomes of rows that lack a value."""

    REFUSE = "refuse"
    SKIP = "skip"
    VALUE = "value"


MISSING = Annotated[
    MissingInTable,
    typer.Option(
        "--missing",
        help="What becomes of rows that lack a value: refuse them, with their number; skip and count them; or take "
        "what is missing for a value of its own.",
    ),
]

#: The number of what is missing among those of bins: before all of them.
_NO_BIN = "-1"


def read_columns(
    path: Path,
    names: Sequence[str],
    *,
    bins: Binning,
    missing: MissingInTable = MissingInTable.REFUSE,
    own: bool = True,
) -> list[tuple[str, ...]]:
    """Read the columns of these names from a CSV or Parquet file, and say on standard error how many rows lack one.

    bins: of numeric columns, in which the numbers of bins then take the place of values.
    missing: what becomes of rows that lack a value; as one of its own it is an empty text.
    own: whether there may be a value of its own.

    Raises:
        DataError: the file cannot be read, lacks a column or has no records; the message never repeats a value.
        ParameterError: there are bins for another column.
    """
    bins.require(names)
    records: list[tuple[str, ...]] = []
    lacking, first = 0, ""
    for place, row in watched(read_rows(path, names), total=None, what="rows"):
        texts = {name: text_of(row[name], what=f"{place}: attribute {name!r}: the given value") for name in names}
        if None in texts.values():
            name = next(name for name, text in texts.items() if text is None)
            first = first or f"{place}: attribute {name!r}: the value is missing"
            lacking += 1
            if missing is not MissingInTable.VALUE:
                continue
        try:
            records.append(tuple(_text(text, name, bins) for name, text in texts.items()))
        except DataError as error:
            before = f"{first}\n" if missing is MissingInTable.REFUSE and first else ""
            raise DataError(f"{before}{place}: {error}") from None
    if lacking and missing is MissingInTable.REFUSE:
        also = f", as in {quantity(lacking - 1, 'more row')}" if lacking > 1 else ""
        or_own = "; or take it for a value: --missing value" if own else ""
        raise DataError(f"{first}{also}\n  -> leave such rows out: --missing skip{or_own}")
    if lacking:
        what = "left out" if missing is MissingInTable.SKIP else "which counts as a value of its own"
        typer.echo(f"{quantity(lacking, 'row')} without a value, {what}", err=True)
    if not records:
        raise DataError(f"{path}: every row lacks a value")
    return list(zip(*records, strict=True))


def coded_columns(
    path: Path, names: Sequence[str], *, bins: Binning, missing: MissingInTable = MissingInTable.REFUSE
) -> tuple[NDArray[np.int64], tuple[int, ...]]:
    """Read the columns of these names as indices of the values that occur in them, in the order of `ordered`.

    bins, missing: see `read_columns`.

    Returns:
        The indices, shape (records, attributes), and the number of values of each attribute.

    Raises:
        DataError: the file cannot be read or is not such a table; the message never repeats a value.
    """
    columns = read_columns(path, names, bins=bins, missing=missing)
    domains = [{value: index for index, value in enumerate(ordered(column))} for column in columns]
    for name, domain in zip(names, domains, strict=True):
        if len(domain) < 2:
            raise DataError(f"{path}: attribute {name!r} has the same value in every record; it needs at least two")
    codes = [[domain[value] for value in column] for column, domain in zip(columns, domains, strict=True)]
    return np.array(codes, dtype=np.int64).T, tuple(map(len, domains))


def _text(text: str | None, name: str, bins: Binning) -> str:
    if name not in bins.edges:
        return text or ""
    return _NO_BIN if text is None else str(bin_of(number_of(text, attribute=name), bins.edges[name], attribute=name))
