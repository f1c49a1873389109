"""The table of a known population, and its users as a collection encodes them."""

import math
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import typer
from numpy.typing import NDArray

from stream_ldp.cli.inputs.item_sets import load_item_sets, named_sets
from stream_ldp.cli.inputs.population import load_population
from stream_ldp.cli.inputs.table import columns_of, read_rows, text_of
from stream_ldp.collection.records import Missing
from stream_ldp.collection.values import text_of as value_text
from stream_ldp.errors import DataError
from stream_ldp.evaluation.completion import ordered
from stream_ldp.quantity import quantity
from stream_ldp.steps import steps


class TableFile:
    """A file of records or of item sets, a `stream_ldp.evaluation.trial.KnownTable`.

    Every method raises DataError if the file cannot be read as such; its messages never repeat a value.
    """

    def __init__(self, path: Path, *, missing: Missing | None) -> None:
        """Read nothing yet.

        missing: what becomes of rows that lack a value; None for a value of its own, where the table says what values
            there are.
        """
        self.path = path
        self._missing = missing
        self._values: dict[str, list[str]] = {}
        self._read: list[tuple[object, Any]] = []

    @cached_property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return columns_of(self.path)

    @cached_property
    def item_sets(self) -> list[list[str]]:
        """The items of each line."""
        with text_of(self.path) as file:
            found = list(named_sets(file, self.path))
        if not found:
            raise DataError(f"{self.path}: empty; it needs a user's items on each line")
        return found

    def values(self, name: str) -> list[str]:
        """Return the values of a column that occur, in their order; an empty text for what is missing."""
        if name not in self._values:
            what = f"attribute {name!r}: the given value"
            rows = steps(read_rows(self.path, [name]), "rows")
            found = ordered(value_text(row[name], what=f"{place}: {what}") or "" for place, row in rows)
            self._values[name] = [each for each in found if each or self._missing is None]
        return self._values[name]

    def numbers(self, name: str) -> NDArray[np.int64]:
        """Return the number of each row's value of a column among those that occur."""
        places = {value: number for number, value in enumerate(self.values(name))}
        rows = read_rows(self.path, [name])
        return np.array([places[value_text(row[name], what=name) or ""] for _, row in rows], dtype=np.int64)

    def windows_of(self, name: str, *, count: int) -> NDArray[np.int64]:
        """Return the window of each row, from 0, by a column of times, which as many windows share evenly.

        Raises:
            DataError: a time is neither a number nor a date of ISO 8601, or a window has no row.
        """
        what = f"column {name!r}: the time"
        rows = read_rows(self.path, [name])
        times = np.array([_seconds(value_text(row[name], what=what), place=place, name=name) for place, row in rows])
        least, length = times.min(), float(times.max() - times.min()) or 1.0
        numbers: NDArray[np.int64] = np.minimum((times - least) / length * count, count - 1).astype(np.int64)
        if len(empty := np.setdiff1d(np.arange(count), numbers)):
            raise DataError(
                f"{self.path}: no row has a time in window {int(empty[0]) + 1} of {count}: give fewer --windows"
            )
        return numbers

    def population(self, collection: Any, *, item_sets: bool) -> Any:
        """Return all users as a collection encodes them; the last ones are kept for the next collection like it."""
        about = collection.items if item_sets else tuple(collection.attributes)
        for known, population in self._read:
            if known == about:
                return population
        if item_sets:
            population = load_item_sets(self.path, collection)
        else:
            encoded = load_population(self.path, collection, missing=self._missing or Missing.REFUSE)
            if encoded.left_out:
                typer.echo(f"{quantity(encoded.left_out, 'row')} without a value, left out", err=True)
            population = encoded.table
        self._read = [(about, population)]
        return population


def _seconds(text: str | None, *, place: str, name: str) -> float:
    """Read a time: a number in any unit, or a date in seconds, which is UTC unless it says otherwise."""
    try:
        number = float(text or "")
    except ValueError:
        number = math.nan
    if math.isfinite(number):
        return number
    try:
        moment = datetime.fromisoformat(text or "")
    except ValueError:
        raise DataError(
            f"{place}: column {name!r}: the time is neither a number nor a date such as 2026-02-28T09:30"
        ) from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
