"""Read a population to simulate from a table whose columns are attributes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_ldp.cli.inputs.table import Binning, read_rows
from stream_ldp.collection.records import CollectionOfRecords, Encoded, Missing, encode_rows
from stream_ldp.errors import DataError
from stream_ldp.steps import steps


def load_population(
    path: Path, collection: CollectionOfRecords, *, bins: Binning | None = None, missing: Missing = Missing.REFUSE
) -> Encoded:
    """Read users, one a row, from a table in a file; columns that are not attributes are ignored.

    bins: of numeric columns whose bins are the values of their attribute, in the same order.
    missing: what becomes of rows that lack a value.

    Raises:
        DataError: it cannot be read, a column is missing, or a value is not one of its attribute's; the message names
            the line and never a value.
        ParameterError: a column has another number of bins than its attribute has values.
    """
    binning = bins or Binning.of(())
    names = [attribute.name for attribute in collection.attributes]
    labels = _labels(collection, binning)

    def rows() -> Iterator[tuple[str, dict[str, Any]]]:
        for place, row in steps(read_rows(path, names), "rows"):
            try:
                yield place, row | {name: binning.binned(name, row[name], labels=labels[name]) for name in labels}
            except DataError as error:
                raise DataError(f"{place}: {error}") from None

    encoded = encode_rows(collection, rows(), missing=missing)
    if not len(encoded.table):
        raise DataError(f"{path}: every row lacks a value")
    return encoded


def _labels(collection: CollectionOfRecords, binning: Binning) -> dict[str, Sequence[str]]:
    """Return the values that the bins of each column stand for."""
    binning.require([attribute.name for attribute in collection.attributes])
    found: dict[str, Sequence[str]] = {}
    for attribute in collection.attributes:
        if attribute.name in binning.edges:
            found[attribute.name] = binning.labels_among(
                attribute.name, getattr(attribute, "values", None), missing=getattr(attribute, "missing", None)
            )
    return found


def sample(population: NDArray[Any], users: int, generator: np.random.Generator) -> NDArray[Any]:
    """Draw rows for so many users: without replacement where the population is large enough, otherwise with it."""
    if users <= len(population):
        return population[generator.permutation(len(population))[:users]]
    return population[generator.integers(len(population), size=users)]
