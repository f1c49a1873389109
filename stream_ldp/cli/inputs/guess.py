"""Guess from a CSV file what a collection of its records would be: values, bins, and what to leave out."""

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from stream_ldp.cli.inputs.table import columns_of, read_rows
from stream_ldp.collection.values import number_of
from stream_ldp.errors import DataError
from stream_ldp.quantity import quantity

#: What files write for a value that is not there.
MISSING = frozenset({"", "NA", "N/A", "nan", "NaN", "null", "None", "?"})
#: The most values that are listed: a report of k-RR among more says little.
MAX_VALUES = 32
#: Whole numbers of so few values are codes, which are listed; of more, they are put in bins.
_MAX_CODES = 12
#: The most different values of a column that are kept; more are too many to list, and a sample of numbers for bins.
_KEPT = 20_000
#: Bins of a column of numbers, between quantiles.
_BINS = 6
#: A column in which at least this share of values differ names its rows: by ids, names, addresses or free text.
_ID_SHARE = 0.9
#: Rows from which on that can be said: of ten people, nine may well have different ages.
_ID_ROWS = 20


@dataclass(frozen=True, kw_only=True, slots=True)
class Guess:
    """An attribute as a collection file describes it.

    keys: `name`, `values` or `bins`, and `missing` where some rows have no value.
    cells: number of its values.
    why: what it was guessed from, for a comment.
    """

    keys: dict[str, Any]
    cells: int
    why: str


@dataclass(frozen=True, kw_only=True, slots=True)
class TableGuess:
    """The attributes of a table, and the columns that make none, each with the reason.

    doubted: a column whose name is one of its values as well, so the first line may be a record; None if none is.
    """

    rows: int
    attributes: tuple[Guess, ...]
    left_out: dict[str, str]
    doubted: str | None


@dataclass(kw_only=True, slots=True)
class _Column:
    """The values of a column so far, up to `_KEPT` different ones."""

    name: str
    counts: Counter[str] = field(default_factory=Counter)
    markers: Counter[str] = field(default_factory=Counter)
    spilled: int = 0

    def add(self, value: str) -> None:
        value = value.strip()
        if value in MISSING:
            self.markers[value] += 1
        elif value in self.counts or len(self.counts) < _KEPT:
            self.counts[value] += 1
        else:
            self.spilled += 1

    @property
    def missing(self) -> int:
        """Number of rows without a value."""
        return self.markers.total()


def guess(path: Path) -> TableGuess:
    """Read a table and guess its attributes. Messages name columns, and no value.

    Raises:
        DataError: it cannot be read, its first line is a record, or no column makes an attribute.
    """
    names = columns_of(path)
    _require_names(path, names)
    columns = [_Column(name=name) for name in names]
    rows = 0
    for _, row in read_rows(path, names):
        rows += 1
        for column in columns:
            column.add(str(row[column.name]))
    if columns and all(column.name in column.counts for column in columns):
        raise DataError(_no_header(path))
    doubted = next((column.name for column in columns if column.name in column.counts), None)
    found = {column.name: _attribute(column, rows) for column in columns}
    attributes = tuple(each for each in found.values() if not isinstance(each, str))
    left_out = {name: each for name, each in found.items() if isinstance(each, str)}
    if not attributes:
        reasons = "".join(f"\n  {name}: {why}" for name, why in left_out.items())
        raise DataError(f"{path}: no column can be asked about{reasons}")
    return TableGuess(rows=rows, attributes=attributes, left_out=left_out, doubted=doubted)


def _require_names(path: Path, names: Sequence[str]) -> None:
    if any(_number(name) is not None or not name.strip() for name in names):
        raise DataError(_no_header(path))
    if len(names) == 1 and (between := set(names[0]) & set(";\t|")):
        raise DataError(
            f"{path}: it has one column, with {min(between)!r} in its name; columns are separated by commas"
        )
    if len(set(names)) < len(names):
        raise DataError(f"{path}: two columns have the same name")


def _no_header(path: Path) -> str:
    return (
        f"{path}: the first line looks like a record, not like names of columns\n"
        "  -> put a line such as bathing,mobility above the records"
    )


def _attribute(column: _Column, rows: int) -> Guess | str:
    """Return the attribute that a column makes, or why it makes none."""
    values, there = column.counts, rows - column.missing
    if not there:
        return "it has no values"
    if len(values) + bool(column.missing) == 1:
        return "it has one value, so there is nothing to learn"
    numbers = {text: number for text in values if (number := _number(text)) is not None}
    are_numbers = len(numbers) == len(values)
    are_whole = are_numbers and all(number.is_integer() for number in numbers.values())
    if not are_numbers and all(map(_is_date, _some(values))):
        return "it has dates: add a column with what you ask, such as the month or the age"
    differ = len(values) + column.spilled
    if there >= _ID_ROWS and differ >= _ID_SHARE * there and (are_whole or not are_numbers):
        return "nearly all of its values differ, as ids, names and addresses do: they are never to be reported"
    missing = _missing(column)
    if are_numbers and (not are_whole or len(values) > _MAX_CODES):
        return _bins(column, numbers, missing)
    if differ > MAX_VALUES:
        return f"it has {differ:,} values, too many for a list: see `candidates` and `strings` in docs/mechanisms.md"
    listed = sorted(values, key=lambda text: (numbers.get(text, 0.0), text))
    keys = {"name": column.name, "values": listed, **missing}
    return Guess(keys=keys, cells=len(listed) + len(missing), why=_why(quantity(len(listed), "value"), column))


def _bins(column: _Column, numbers: dict[str, float], missing: dict[str, str]) -> Guess:
    """Bound bins by quantiles, rounded to few digits, without ends: no number is outside."""
    counts = column.counts
    found = np.repeat([numbers[text] for text in counts], list(counts.values()))
    inner = np.quantile(found, np.arange(1, _BINS) / _BINS)
    spread = float(found.max() - found.min())
    unit = 10.0 ** (math.floor(math.log10(spread)) - 1) if spread > 0 else 1.0
    edges = sorted({round(float(each) / unit) * unit for each in inner} - {float(found.min())})
    shown = [
        int(edge) if float(edge).is_integer() else float(f"{edge:.10g}") for edge in edges or [float(found.max())]
    ]
    keys = {"name": column.name, "bins": [-math.inf, *shown, math.inf], **missing}
    return Guess(
        keys=keys, cells=len(shown) + 1 + len(missing), why=_why("numbers, in bins of about as many", column)
    )


def _missing(column: _Column) -> dict[str, str]:
    if not column.missing:
        return {}
    # The text that the file has in its place stands for it, so that reporters take the file as it is.
    written = [text for text, _ in column.markers.most_common() if text]
    names = (*written, "unknown", "not given", "-")
    return {"missing": next(name for name in names if name not in column.counts)}


def _why(what: str, column: _Column) -> str:
    return f"{what}; {quantity(column.missing, 'row')} without one" if column.missing else what


def _some(values: Counter[str]) -> Iterator[str]:
    """Yield the first hundred different values: a column of dates begins with dates."""
    for _, value in zip(range(100), values, strict=False):
        yield value


def _number(text: str) -> float | None:
    try:
        number = number_of(text, attribute="")
    except DataError:
        return None
    return number if math.isfinite(number) else None


def _is_date(text: str) -> bool:
    if re.fullmatch(r"\d{1,2}[./]\d{1,2}[./]\d{2,4}( .*)?", text):
        return True
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True
