"""This module reads a population to simulate from a table whose columns are attributes."""

from __future__ import annotations

import csv
import zlib
from typing import TYPE_CHECKING, Any

from stream_ldp.cli.inputs.text_file import open_text
from stream_ldp.errors import DataError

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from stream_ldp.records.collection import JointCollection
    from stream_ldp.sampled.collection import AskingCollection
    from stream_ldp.strings.collection import StringCollection

    Records = JointCollection | AskingCollection | StringCollection

__all__ = ["PopulationError", "load_population", "sample"]


class PopulationError(DataError):
    """A table is not a population of the collection; the message names the line and never a value."""


def load_population(path: Path, collection: Records) -> NDArray[Any]:
    """Read users, one a row as the collection's `table` makes them, from a CSV file, gzipped if its name ends in .gz.

    The first line names the columns; those that are not attributes are ignored.

    Raises:
        PopulationError: it cannot be read, a column is missing, or a value is not one of its attribute's.
    """
    try:
        with open_text(path) as file:
            return _codes(csv.DictReader(file, strict=True), path, collection)
    except (OSError, EOFError, UnicodeDecodeError, zlib.error, csv.Error) as error:
        raise PopulationError(f"{path}: cannot be read: {error}") from error


def sample(population: NDArray[Any], users: int, generator: np.random.Generator) -> NDArray[Any]:
    """Draw rows for so many users: without replacement where the population is large enough, otherwise with it."""
    if users <= len(population):
        return population[generator.permutation(len(population))[:users]]
    return population[generator.integers(len(population), size=users)]


def _codes(rows: csv.DictReader[str], path: Path, collection: Records) -> NDArray[Any]:
    names = [attribute.name for attribute in collection.attributes]
    header = rows.fieldnames or []
    if missing := [name for name in names if name not in header]:
        raise PopulationError(f"{path}: the first line has no column {missing[0]!r}")
    codes = []
    for row in rows:
        # A short row lacks its last values, a long one has some under no name.
        if None in row or None in row.values():
            raise PopulationError(f"{path}:{rows.line_num}: not as many values as there are columns, {len(header)}")
        try:
            codes.append(collection.encode({name: row[name] for name in names}))
        except DataError as error:
            raise PopulationError(f"{path}:{rows.line_num}: {error}") from None
    if not codes:
        raise PopulationError(f"{path}: no rows below the first line")
    return collection.table(codes)
