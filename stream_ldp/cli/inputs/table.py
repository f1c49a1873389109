"""Read tables of records from files: CSV and lines of JSON, gzipped or not, and Parquet."""

from __future__ import annotations

import contextlib
import csv
import difflib
import gzip
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TextIO

import typer

from stream_ldp.cli.inputs.records import record_of_json
from stream_ldp.collection.records import Missing, rows_of_table
from stream_ldp.collection.values import bin_of, labels_of_bins, number_of
from stream_ldp.collection.values import text_of as value_text
from stream_ldp.errors import DataError, ParameterError
from stream_ldp.extras import imported
from stream_ldp.quantity import quantity

#: What an option says of the file with users' records.
DATA_HELP = (
    "CSV, JSON lines or Parquet with a column for each attribute or key, or for the string; others are ignored. For "
    "an item collection, a text file with a user's items on each line, separated by blanks. Read as Parquet if its "
    "name ends in .parquet, as an object on each line if in .jsonl, and as gzip if in .gz."
)

#: The option that says what becomes of rows without a value.
MISSING = Annotated[
    Missing,
    typer.Option(
        "--missing",
        help="What becomes of rows that lack a value: refuse them, with their number, or skip and count them. In a "
        "collection file, `missing: unknown` gives an attribute a value for it.",
    ),
]

#: The option that puts numbers in bins.
BINS = Annotated[
    list[str] | None,
    typer.Option(
        "--bins",
        metavar="NAME=EDGE,EDGE,...",
        help="Numbers that bound the bins of a numeric column, each bin without its upper end but for the last; may "
        "be repeated.",
        show_default=False,
    ),
]


@dataclass(frozen=True, kw_only=True, slots=True)
class Binning:
    """The bins of the numeric columns of a table, by name.

    edges: numbers that bound the bins of each, ascending.
    """

    edges: Mapping[str, tuple[float, ...]]

    @classmethod
    def of(cls, options: Sequence[str] | None) -> Binning:
        """Read the option `--bins`.

        Raises:
            ParameterError: one is not a name and its edges.
        """
        edges: dict[str, tuple[float, ...]] = {}
        for option in options or ():
            name, equals, listed = option.rpartition("=")
            try:
                bounds = tuple(map(float, listed.split(",")))
                labels_of_bins(bounds)
            except ValueError:
                raise ParameterError(
                    f"--bins {option!r}: expected a column's name and the edges of its bins, such as age=0,18,65,120"
                ) from None
            if not equals or name in edges:
                raise ParameterError(f"--bins {option!r}: expected a column's name, once each")
            edges[name] = bounds
        return cls(edges=edges)

    def binned(self, name: str, value: Any, *, labels: Sequence[str] | None = None) -> Any:
        """Return the bin of a value, where its column has bins, and otherwise the value.

        labels: what the bins are called; None for their bounds.

        Raises:
            DataError: the value is no number, or in no bin. The message never repeats it.
        """
        if name not in self.edges or (text := value_text(value, what=f"attribute {name!r}: the given value")) is None:
            return value
        edges = self.edges[name]
        names = labels_of_bins(edges) if labels is None else labels
        return names[bin_of(number_of(text, attribute=name), edges, attribute=name)]

    def labels_among(self, name: str, values: Sequence[str] | None, *, missing: str | None) -> Sequence[str]:
        """Return the values of an attribute that stand for the bins of its column, in their order.

        values: those that the attribute may have; None if they are not in a list.
        missing: the one of them that stands for what is missing, and so for no bin.

        Raises:
            ParameterError: there are not as many values as bins.
        """
        count = len(self.edges[name]) - 1
        found = [value for value in values or () if value != missing]
        if len(found) != count:
            raise ParameterError(
                f"--bins: {count} bins for attribute {name!r}, which has {len(found)} values; it needs one for each"
            )
        return found

    def require(self, names: Sequence[str]) -> None:
        """Check that the columns with bins are among these.

        Raises:
            ParameterError: one is not.
        """
        for name in self.edges:
            if name not in names:
                raise ParameterError(f"--bins: {name!r} is not one of {', '.join(names)}")


def read_rows(path: Path, names: Sequence[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Read the rows of a table: the place of each, for messages, and its values by column.

    A file whose name ends in .parquet is read as Parquet, one in .jsonl as JSON objects, one on each line, any other
    as CSV with a header line; text is gzipped if the name ends in .gz. Columns of other names are ignored, but an
    object keeps them; what it lacks is None.

    Raises:
        DataError: the file cannot be read, lacks a column or has no rows; the message never repeats a value.
        MissingExtra: it is Parquet, and pyarrow is not installed.
    """
    if _is_json(path):
        return _json_rows(path, names)
    return _parquet_rows(path, names) if path.suffix == ".parquet" else _csv_rows(path, names)


def columns_of(path: Path) -> list[str]:
    """Read the names of the columns of a table, in their order; of lines of JSON, all that some line has.

    Raises:
        DataError: the file cannot be read, or names no columns.
        MissingExtra: it is Parquet, and pyarrow is not installed.
    """
    if _is_json(path):
        return list(dict.fromkeys(name for _, row in _json_rows(path, ()) for name in row))
    if path.suffix == ".parquet":
        parquet, arrow = imported("pyarrow.parquet", extra="analysis"), imported("pyarrow", extra="analysis")
        try:
            return list(parquet.read_schema(str(path)).names)
        except (OSError, arrow.ArrowInvalid) as error:
            raise DataError(f"{path}: cannot be read as Parquet: {str(error).splitlines()[0]}") from None
    with text_of(path) as file:
        try:
            header = next(csv.reader(file, strict=True), None)
        except csv.Error as error:
            raise DataError(f"{path}:1: not CSV: {error}") from error
    if not header:
        raise DataError(f"{path}: no first line with the names of columns, and then one record a line")
    _require_table(path, header)
    return header


def _require_table(path: Path, header: Sequence[str]) -> None:
    """Refuse lines of JSON, whose first record would be taken for the names of columns, and printed as such."""
    if header[0].lstrip().startswith(("{", "[")):
        raise DataError(
            f"{path}: lines of JSON, where a table has the names of its columns\n"
            "  -> let the name of a file with an object on each line end in .jsonl"
        )


def _is_json(path: Path) -> bool:
    return path.name.removesuffix(".gz").endswith(".jsonl")


def _json_rows(path: Path, names: Sequence[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    any_rows = False
    with text_of(path) as file:
        for number, line in enumerate(file, start=1):
            if line.isspace():
                continue
            try:
                record = record_of_json(line.rstrip())
            except DataError as error:
                raise DataError(f"{path}:{number}: {error}") from None
            any_rows = True
            yield f"{path}:{number}", dict.fromkeys(names) | record
    if not any_rows:
        raise DataError(f"{path}: no records; it needs a JSON object on each line")


def _parquet_rows(path: Path, names: Sequence[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    parquet, arrow = imported("pyarrow.parquet", extra="analysis"), imported("pyarrow", extra="analysis")
    try:
        with parquet.ParquetFile(str(path)) as file:
            there = file.schema_arrow.names
            wanted = [name for name in names if name in there]
            number = 0
            for batch in file.iter_batches(columns=wanted):
                for row in rows_of_table(_Named(batch, there), names):
                    number += 1
                    yield f"{path}: row {number:,}", dict(row)
    except (OSError, arrow.ArrowInvalid) as error:
        raise DataError(f"{path}: cannot be read as Parquet: {str(error).splitlines()[0]}") from None
    except DataError as error:
        raise DataError(f"{path}: {error}") from None
    if not number:
        raise DataError(f"{path}: no rows")


@dataclass(frozen=True, slots=True)
class _Named:
    """Some columns of a batch of Parquet, under the names of all columns of its file."""

    batch: Any
    column_names: Sequence[str]

    def column(self, name: str) -> Any:
        return self.batch.column(self.batch.schema.get_field_index(name))


def _csv_rows(path: Path, names: Sequence[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    with text_of(path) as file:
        lines = csv.reader(file, strict=True)
        try:
            header = next(lines, None)
            if not header:
                raise DataError(f"{path}: no first line with the names of columns, and then one record a line")
            _require_table(path, header)
            for name in names:
                if name not in header:
                    # The message leaves out the other names: without a header line they would be somebody's values.
                    close = difflib.get_close_matches(name, header, n=1)
                    hint = f"; did you mean {close[0]!r}?" if close else ""
                    if len(header) == 1 and (between := set(header[0]) & set(";\t|")):
                        hint = (
                            f": it has one column, with {min(between)!r} in its name; columns are separated by commas"
                        )
                    raise DataError(f"{path}: the first line has no column {name!r}{hint}")
                if header.count(name) > 1:
                    raise DataError(f"{path}: two columns have the name {name!r}")
            places, any_rows = [header.index(name) for name in names], False
            for values in lines:
                if not values:
                    continue  # an empty line, as many programs leave at the end
                if len(values) != len(header):
                    has = f"{quantity(len(values), 'value')} for {quantity(len(header), 'column')}"
                    raise DataError(f"{path}:{lines.line_num}: {has}")
                any_rows = True
                yield (
                    f"{path}:{lines.line_num}",
                    {name: values[place] for name, place in zip(names, places, strict=True)},
                )
        except csv.Error as error:
            raise DataError(f"{path}:{lines.line_num}: not CSV: {error}") from error
    if not any_rows:
        raise DataError(f"{path}: no records below the header line")


@contextlib.contextmanager
def text_of(path: Path) -> Iterator[TextIO]:
    """Open a file's text, with its line ends as they are.

    Raises:
        DataError: the file cannot be read, also when a later line is.
    """
    try:
        with open_text(path) as file:
            yield file
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataError(f"{path}: its name ends in .gz, but it is not gzip, or damaged or cut short") from error
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not text in UTF-8; the name of a gzipped file must end in .gz") from error


def open_text(path: Path) -> TextIO:
    """Open a file, gzipped if its name ends in .gz; its errors are raised as they occur."""
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8-sig", newline="")
    return path.open(encoding="utf-8-sig", newline="")
