"""Read records from text: lines of CSV or of JSON, one record each."""

import asyncio
import csv
import json
import threading
from collections.abc import AsyncGenerator, Callable, Iterable
from enum import StrEnum
from pathlib import Path
from typing import Any

from stream_ldp.collection.records import CollectionOfRecords
from stream_ldp.errors import DataError
from stream_ldp.quantity import quantity

_READ_BYTES = 65_536
#: The most reads that may wait for the reports before them to leave.
_READ_AHEAD = 4


class Format(StrEnum):
    """The format of a line that holds a record."""

    AUTO = "auto"
    CSV = "csv"
    JSONL = "jsonl"


class _BadLine(DataError):
    """A line is not a record of the collection."""


class _BadHeader(_BadLine):
    """A CSV header does not fit the collection, so that no line under it can be a record."""


class RecordReader:
    """A record reader turns lines into value indices. Its messages never repeat a value.

    problem: what was wrong with the line that ended the reading; None while there is none.
    """

    def __init__(
        self, collection: CollectionOfRecords, *, form: Format, source: str, on_skip: Callable[[str], None] | None
    ) -> None:
        """Start before the first line.

        source: name of the file in messages.
        on_skip: called with the problem of each bad line; None ends the reading at the first bad line.
        """
        self.problem: str | None = None
        self._collection = collection
        self._form = form
        self._source = source
        self._on_skip = on_skip
        self._number = 0
        self._columns: list[str] | None = None

    def read(self, lines: Iterable[bytes]) -> list[tuple[Any, ...]]:
        """Read the records of the next lines, up to the first bad one unless bad lines are skipped."""
        records = []
        for line in lines:
            self._number += 1
            try:
                record = self._parse(line)
            except DataError as error:
                problem = f"{self._source}:{self._number}: {error}"
                if self._on_skip is None or isinstance(error, _BadHeader):
                    self.problem = problem
                    break
                self._on_skip(problem)
            else:
                if record is not None:
                    records.append(record)
        return records

    def _parse(self, line: bytes) -> tuple[Any, ...] | None:
        """Read the record of a line; None for a header or a blank line. Raises DataError for any other line."""
        try:
            text = line.decode("utf-8-sig")
        except UnicodeDecodeError:
            raise _BadLine("not UTF-8") from None
        if not text.strip():
            return None
        if self._form is Format.AUTO:
            self._form = Format.JSONL if text.lstrip().startswith("{") else Format.CSV
        if self._form is Format.JSONL:
            return self._collection.encode(record_of_json(text))
        cells = _from_csv(text)
        if self._columns is None:
            self._columns = self._header(cells)
            return None
        if len(cells) != len(self._columns):
            raise _BadLine(f"{quantity(len(cells), 'value')} under {quantity(len(self._columns), 'column')}")
        return self._collection.encode(dict(zip(self._columns, cells, strict=True)))

    def _header(self, cells: list[str]) -> list[str]:
        expected = [attribute.name for attribute in self._collection.attributes]
        if sorted(cells) != sorted(expected):
            # The message does not repeat its words: where the header is missing, they are somebody's values.
            raise _BadHeader(
                f"the first line must name the attributes of the collection, each once: {', '.join(expected)}"
            )
        return cells


async def lines_of(path: Path) -> AsyncGenerator[list[bytes], None]:
    """Yield the whole lines of a file, or of standard input for `-`, as many at a time as have come.

    Raises:
        OSError: the file cannot be read.
    """
    standard_input = str(path) == "-"
    # Unbuffered, so that a read returns what a pipe has and does not wait for more.
    file = open(0 if standard_input else path, "rb", buffering=0, closefd=not standard_input)  # noqa: ASYNC230, SIM115
    loop = asyncio.get_running_loop()
    chunks: asyncio.Queue[bytes | OSError] = asyncio.Queue()
    room = threading.Semaphore(_READ_AHEAD)
    # Held while a chunk is handed over: once reading has ended, the loop may be closed, and takes none.
    handing = threading.Lock()
    wanted = True

    def read() -> None:
        chunk: bytes | OSError = b"..."
        with file:
            while chunk and not isinstance(chunk, OSError):
                room.acquire()
                try:
                    chunk = file.read(_READ_BYTES) if wanted else b""
                except OSError as error:
                    chunk = error
                with handing:
                    if not wanted:
                        return
                    loop.call_soon_threadsafe(chunks.put_nowait, chunk)

    # In a thread that nobody joins: the read of an idle terminal or pipe cannot be cancelled, and would delay Ctrl-C
    # until the next line.
    threading.Thread(target=read, daemon=True).start()
    rest = b""
    try:
        while chunk := await chunks.get():
            if isinstance(chunk, OSError):
                raise chunk
            *lines, rest = (rest + chunk).split(b"\n")
            if lines:
                yield lines
            room.release()
        if rest:
            yield [rest]
    finally:
        with handing:
            wanted = False
        room.release()


def _from_csv(text: str) -> list[str]:
    try:
        return next(csv.reader([text], strict=True))
    except csv.Error as error:
        raise _BadLine(f"not CSV: {error}") from None


def record_of_json(text: str) -> dict[str, str | None]:
    """Read the record of a line of JSON, with its numbers as text.

    Raises:
        DataError: it is no object of strings and numbers, or gives a key twice. The message never repeats a value.
    """
    try:
        # Numbers stay as they are written: as an int, one of 5,000 digits would raise a ValueError here.
        record = json.loads(text, object_pairs_hook=_distinct, parse_int=str, parse_float=str, parse_constant=str)
    except json.JSONDecodeError as error:
        raise _BadLine(f"not JSON: {error.msg} at column {error.colno}") from None
    except RecursionError:
        raise _BadLine('not a record, but objects within objects: expected {"attribute": "value", ...}') from None
    if not isinstance(record, dict):
        raise _BadLine('not a JSON object: expected {"attribute": "value", ...}')
    for name, value in record.items():
        if not isinstance(value, str | None):
            raise _BadLine(f"attribute {name!r}: expected a JSON string, a number, or null where it is missing")
    return record


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) != len(pairs):
        raise _BadLine("a key is given twice: give each once")
    return record
