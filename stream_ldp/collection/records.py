"""What all collections of records have in common: attributes with names, and tables of many records."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from stream_ldp.collection.attributes import Encoder, encode_record, refused_of, require_mapping
from stream_ldp.collection.collection import Collection
from stream_ldp.collection.values import MissingValue
from stream_ldp.errors import DataError


class Missing(StrEnum):
    """What becomes of records that lack a value for which their attribute has none."""

    REFUSE = "refuse"
    """They are an error, which counts them."""
    SKIP = "skip"
    """They are left out, and counted."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Encoded:
    """Records in the form in which they are reported.

    table: one a row, as `table` makes them.
    left_out: number of the records that were left out since they lack a value.
    """

    table: NDArray[Any]
    left_out: int


class RecordSource(Protocol):
    """The part that `encode_many` needs of a collection."""

    @property
    def attributes(self) -> Sequence[Encoder]: ...

    @property
    def sparse(self) -> bool: ...

    def encode(self, record: Mapping[str, Any]) -> tuple[Any, ...]: ...

    def table(self, records: Any) -> NDArray[Any]: ...


class CollectionOfRecords(Collection):
    """A collection whose users each have a record, which gives every attribute a value.

    sparse: whether a record may leave attributes out. One with another key is then refused: a misspelt attribute
        would otherwise count as left out.

    Raises (from `load` and `parse`):
        CollectionError: the file cannot be read, or something in it is wrong.
    """

    sparse: ClassVar[bool] = False

    if TYPE_CHECKING:

        @property
        def attributes(self) -> Sequence[Encoder]: ...

        @property
        def bits(self) -> int:
            """Number of bits of a report."""
            ...

    def encode(self, record: Mapping[str, Any]) -> tuple[Any, ...]:
        """Convert a record, which gives every attribute a value, to the numbers of values, and to numbers.

        Raises:
            DataError: an attribute is missing, unknown, or has another value. The message never repeats the value.
        """
        return encode_record(record, self.attributes, collection=self.name)

    @property
    def labelled(self) -> Mapping[str, Sequence[str]]:
        """See `Collection.labelled`: the values of attributes that have a list of them."""
        listed = (each for each in self.attributes if getattr(each, "range", None) is None)
        return {each.name: found for each in listed if (found := getattr(each, "labels", ()))}

    @property
    def refused(self) -> tuple[str, ...]:
        """See `Collection.refused`: values for which an attribute has no number."""
        return refused_of(self.attributes)

    def asks(self, secrets: Sequence[bytes], *, time_ms: int) -> NDArray[np.bool_]:
        """Decide which users are asked at an event time, bool, shape (n,).

        All of them are, unless users take turns or a sample of them is asked.

        secrets: secret of each user, 32 bytes.
        """
        return self.has_turn(secrets, number=time_ms // self.turn_ms)

    def asks_some(self, count: int, *, entropy: Any) -> NDArray[np.bool_]:
        """Decide who is asked of so many users without secrets, who report once; bool, shape (count,)."""
        if self.rotate is None:
            return np.ones(count, dtype=np.bool_)
        chosen: NDArray[np.bool_] = entropy.integers(np.full(count, self.rotate)) == 0
        return chosen

    @abstractmethod
    def table(self, records: Any) -> NDArray[Any]:
        """Return encoded records, or a table of them, as an array of users, one a row."""

    def encode_many(self, records: Any, *, missing: Missing | str = Missing.REFUSE) -> Encoded:
        """Convert many records.

        records: a pandas or polars DataFrame, a `pyarrow.Table`, a mapping of the attributes' names to columns, or a
            sequence of records. Other columns are ignored, but other keys of `sparse` records are refused. A missing
            value is None, NaN or an empty text.
        missing: what becomes of records that lack a value, where their attribute has no `missing` value of its own.

        Raises:
            DataError: a column is missing, or a record does not fit the collection. The message names the row, from 1
                on, and the column, and never repeats a value; of missing values it says how many rows lack one.
        """
        names = [attribute.name for attribute in self.attributes]
        places = ((f"row {number:,}", row) for number, row in enumerate(rows_of_table(records, names), start=1))
        return encode_rows(self, places, missing=Missing(missing))

    def users(self, records: Any) -> NDArray[Any]:
        """Return records of many users as one table: as `encode_many` takes them, or encoded already.

        Raises:
            DataError: see `encode_many`.
        """
        if is_table(records):
            return self.encode_many(records).table
        try:
            return self.table(records)
        except (TypeError, ValueError):
            # NumPy's message has the value.
            raise DataError(
                "expected a table or a list of records, each a mapping from attributes to values, or encoded already"
            ) from None


def encode_rows(
    collection: RecordSource, rows: Iterable[tuple[str, Mapping[str, Any]]], *, missing: Missing
) -> Encoded:
    """Convert records that have names of their own, such as the line of a file.

    Raises:
        DataError: see `CollectionOfRecords.encode_many`.
    """
    code_of = _coder(collection)
    encoded, lacking = [], 0
    first = ""
    for place, row in rows:
        try:
            require_mapping(row)
            encoded.append(code_of(row))
        except MissingValue as error:
            lacking += 1
            first = first or f"{place}: {error}"
        except DataError as error:
            # A user who mends this row alone would next get an error about the previous one.
            before = f"{first}\n" if missing is Missing.REFUSE and first else ""
            raise DataError(f"{before}{place}: {error}") from None
    if lacking and missing is Missing.REFUSE:
        also = f", as in {lacking - 1:,} more rows" if lacking > 1 else ""
        raise DataError(
            f"{first}{also}\n"
            "  -> where its values are listed, give the attribute one in the file, such as `missing: unknown`; "
            'or leave such rows out: `--missing skip` of a command, encode_many(..., missing="skip") in Python'
        )
    return Encoded(table=collection.table(encoded), left_out=lacking)


def _coder(collection: RecordSource) -> Callable[[Mapping[str, Any]], tuple[Any, ...]]:
    """Return a function that encodes a record, and each value of an attribute only once."""
    if collection.sparse:
        return collection.encode
    names = [attribute.name for attribute in collection.attributes]
    if type(collection).encode is not CollectionOfRecords.encode:
        return lambda row: collection.encode({name: row.get(name) for name in names})
    columns: list[tuple[str, Callable[[Any], Any], dict[Any, Any]]] = [
        (attribute.name, attribute.encode, {}) for attribute in collection.attributes
    ]

    def code_of(row: Mapping[str, Any]) -> tuple[Any, ...]:
        codes = []
        for name, encode, known in columns:
            value = row.get(name)
            key = value.__class__, value  # True is no 1, but its equal
            try:
                code = known.get(key)
            except TypeError:
                raise DataError(f"attribute {name!r}: the value is neither text nor a number") from None
            if code is None:
                code = encode(value)
                if len(known) < _KNOWN:
                    known[key] = code
            codes.append(code)
        return tuple(codes)

    return code_of


#: The most different values of an attribute that are encoded only once: some megabytes.
_KNOWN = 20_000


def is_table(records: Any) -> bool:
    """Decide whether these are records with names, a table or a sequence of them, which have yet to be encoded."""
    if isinstance(records, Mapping) or hasattr(records, "column_names") or hasattr(records, "columns"):
        return True
    return isinstance(records, Sequence) and len(records) > 0 and isinstance(records[0], Mapping)


def rows_of_table(records: Any, names: Sequence[str]) -> Iterator[Mapping[str, Any]]:
    """Iterate over the rows of a table, of these columns alone; see `CollectionOfRecords.encode_many`.

    Raises:
        DataError: a column is not there, is there twice, or is shorter than another.
    """
    if isinstance(records, Sequence) and not isinstance(records, str | bytes):
        return iter(records)
    if isinstance(records, Mapping):
        there, column_of = list(records), _column_of_mapping(records)
    elif hasattr(records, "column_names"):
        there, column_of = list(records.column_names), lambda name: records.column(name).to_pylist()
    elif not hasattr(records, "columns"):
        raise DataError(
            "many records are a DataFrame, a pyarrow.Table, a mapping of columns, or a sequence of records, and this "
            f"is a {type(records).__name__}"
        )
    else:
        there, column_of = list(records.columns), lambda name: _column_of_frame(records[name])
    for name in names:
        if there.count(name) != 1:
            raise DataError(
                f"there is no column {name!r}" if name not in there else f"two columns are named {name!r}"
            )
    columns = [column_of(name) for name in names]
    if len(set(map(len, columns))) > 1:
        raise DataError("the columns differ in length")
    return (dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True))


def _column_of_mapping(columns: Mapping[str, Any]) -> Callable[[str], Any]:
    return lambda name: columns[name].tolist() if hasattr(columns[name], "tolist") else list(columns[name])


def _column_of_frame(column: Any) -> list[Any]:
    """Return a column of a DataFrame, None where a value is missing."""
    if not hasattr(column, "isna"):
        return list(column.to_list())
    return [None if lacks else value for value, lacks in zip(column.tolist(), column.isna().tolist(), strict=True)]
