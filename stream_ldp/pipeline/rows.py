"""The cells of a final answer as flat rows of one schema, for databases and tools that take no nested messages."""

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Any

from stream_ldp.collection.labels import Labels
from stream_ldp.extras import imported
from stream_ldp.pipeline.answer import Answer, moment
from stream_ldp.pipeline.cells import LEVEL
from stream_ldp.pipeline.content_type import CONNECT_ROW, ROW, Headers
from stream_ldp.pipeline.selection import EVERYTHING, Selection
from stream_ldp.spreadsheet import csv_line

#: The columns of a row, in order, each with its type: text, time (ISO 8601, UTC), integer, number or truth. None of
#: the names is reserved in SQL, and all collections of all kinds have the same.
COLUMNS: Mapping[str, str] = {
    "collection_name": "text",
    "fingerprint": "text",
    "series": "text",
    "window_start": "time",
    "window_end": "time",
    "reports": "integer",
    "cell_labels": "text",
    "cell_name": "text",
    "cell_number": "integer",
    "cells": "integer",
    "estimate": "number",
    "standard_error": "number",
    "error_is_bound": "truth",
    "interval_low": "number",
    "interval_high": "number",
    "raw_estimate": "number",
    "sources": "text",
}

#: The columns that distinguish a row from all others: the window, and the cell by what it is about.
KEY = ("fingerprint", "series", "window_start", "cell_labels")


#: The types of Kafka Connect's schemas, those of times with the logical type's name: milliseconds since 1970.
_CONNECT_TYPES: Mapping[str, Mapping[str, Any]] = {
    "text": {"type": "string"},
    "time": {"type": "int64", "name": "org.apache.kafka.connect.data.Timestamp", "version": 1},
    "integer": {"type": "int64"},
    "number": {"type": "double"},
    "truth": {"type": "boolean"},
}

#: The columns that may be empty in a row.
OPTIONAL = frozenset({"estimate", "standard_error", "interval_low", "interval_high", "raw_estimate", "sources"})

#: The schema that rows bring with them for Kafka Connect's JsonConverter, the same of all collections.
CONNECT_SCHEMA: Mapping[str, Any] = {
    "type": "struct",
    "name": "stream_ldp.row",
    "version": 1,
    "optional": False,
    "fields": [
        {"field": name, **_CONNECT_TYPES[kind], "optional": name in OPTIONAL} for name, kind in COLUMNS.items()
    ],
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """One cell of a final answer.

    values: by column, as `COLUMNS` has them; None where something is not known.
    """

    values: Mapping[str, Any]

    @property
    def key(self) -> bytes:
        """Key of the record with this row: that of its window and cell."""
        return "|".join(str(self.values[name]) for name in KEY).encode()

    @property
    def headers(self) -> Headers:
        """Headers of the record with this row."""
        return ROW

    def to_bytes(self) -> bytes:
        """Encode it as the value of a record."""
        return self.to_json().encode()

    def to_json(self) -> str:
        """Return the row as a flat JSON object on one line."""
        return json.dumps(self.values, ensure_ascii=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class ConnectRow(Row):
    """A row as Kafka Connect's JsonConverter reads it with `schemas.enable`: the schema, and the values by it."""

    @property
    def headers(self) -> Headers:
        """Headers of the record with this row."""
        return CONNECT_ROW

    def to_json(self) -> str:
        """Return schema and payload as a JSON object on one line."""
        payload = {name: _value(self, name) for name in COLUMNS}
        times = {name: round(each.timestamp() * 1000) for name, each in payload.items() if isinstance(each, datetime)}
        return json.dumps({"schema": CONNECT_SCHEMA, "payload": payload | times}, ensure_ascii=False)


def published_rows(answer: Answer, rows: bool | str, *, labels: Labels = MappingProxyType({})) -> Iterator[Row]:
    """Return the rows of a final answer as its collection wants them published.

    rows: what the collection's file says of them: `connect` for those with Kafka Connect's schema.
    labels: what it lets people read in place of values.
    """
    found = rows_of(answer, labels=labels)
    return (ConnectRow(values=row.values) for row in found) if rows == "connect" else found


def rows_of(
    answer: Answer, *, selection: Selection = EVERYTHING, labels: Labels = MappingProxyType({})
) -> Iterator[Row]:
    """Return the cells of a final answer as rows, in the order of the answer.

    `cell_labels` is JSON text with what the cell is about, such as {"bathing": "no", "mobility": "some"}, and
    `cell_name` its values alone, as people read them. Where `of` and `given` name attributes, the cells are about
    them. The interval holds the true number with probability 0.95. `sources` is JSON text with what each region has
    counted; None where there are no regions.

    Raises:
        ValueError: the answer is provisional, so the next one replaces it.
        ParameterError: it has no such attributes.
    """
    if not answer.final:
        raise ValueError("the rows of a window are those of its final answer, and this one is provisional")
    cells, read = (list(selection.cells(each)) for each in (answer, answer.labelled(labels)))
    parts = answer.sources
    sources = None if parts is None else json.dumps([part.model_dump(mode="json") for part in parts])
    for number, (cell, named) in enumerate(zip(cells, read, strict=True)):
        low, high = cell.interval(LEVEL) or (None, None)
        yield Row(
            values={
                "collection_name": answer.collection,
                "fingerprint": answer.fingerprint,
                "series": answer.series,
                "window_start": moment(answer.window.start_ms),
                "window_end": moment(answer.window.end_ms),
                "reports": answer.reports,
                "cell_labels": json.dumps(dict(cell.labels), ensure_ascii=False),
                "cell_name": ", ".join(map(str, named.labels.values())),
                "cell_number": number,
                "cells": len(cells),
                "estimate": _number(cell.estimate),
                "standard_error": _number(cell.standard_error),
                "error_is_bound": cell.bound,
                "interval_low": low,
                "interval_high": high,
                "raw_estimate": _number(cell.raw),
                "sources": sources,
            }
        )


def csv_of(rows: Iterable[Row]) -> str:
    """Write rows as CSV with a header line; what is not known is empty.

    Text that a spreadsheet would take for a formula has an apostrophe before it.
    """
    return "".join(csv_line(cells) for cells in (COLUMNS, *(row.values.values() for row in rows)))


def arrow_of(rows: Sequence[Row]) -> Any:
    """Return rows as a `pyarrow.Table`, with the times as times.

    Raises:
        MissingExtra: pyarrow is not installed.
    """
    arrow = imported("pyarrow", extra="export")
    types = {
        "text": arrow.string(),
        "time": arrow.timestamp("ms", tz="UTC"),
        "integer": arrow.int64(),
        "number": arrow.float64(),
        "truth": arrow.bool_(),
    }
    schema = arrow.schema([(name, types[kind]) for name, kind in COLUMNS.items()])
    return arrow.table({name: [_value(row, name) for row in rows] for name in COLUMNS}, schema=schema)


def _value(row: Row, name: str) -> Any:
    value = row.values[name]
    return datetime.fromisoformat(value) if COLUMNS[name] == "time" else value


def _number(value: float | None) -> float | None:
    return None if value is None or math.isnan(value) else float(value)
