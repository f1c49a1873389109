"""What takes rows, a folder or a database: each answer's at once, with the same result however often it comes."""

import errno
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Protocol
from urllib.parse import quote

from stream_ldp.errors import ParameterError, StreamLDPError
from stream_ldp.extras import imported
from stream_ldp.pipeline.rows import COLUMNS, KEY, Row, arrow_of


class SinkError(StreamLDPError, RuntimeError):
    """A sink cannot take rows, for a reason that somebody has to put right."""


class SinkAway(SinkError):
    """A sink does not answer, or has no room: the same rows may be taken later."""


class Sink(Protocol):
    """A sink of rows."""

    def open(self) -> None:
        """Get ready, also again after `SinkAway`.

        Raises:
            SinkAway: it cannot be reached now.
            SinkError: it cannot be used, as it holds something else under this name.
        """
        ...

    def write(self, rows: Sequence[Row]) -> None:
        """Keep the rows of one answer, all or none, in place of those with the same keys.

        Raises:
            SinkAway: nothing was kept, since it cannot be reached or is full.
            SinkError: nothing was kept, and never will be.
        """
        ...

    def close(self) -> None:
        """Let go of what was opened."""
        ...


#: Most characters of a series in the name of a file; a collection file allows no more.
_LONGEST_SERIES = 63


class ParquetFolder:
    """A sink that keeps DIRECTORY/COLLECTION/YYYY-MM/SERIES-START-FINGERPRINT.parquet.

    A file appears whole, under its name, once it is on the disk: an answer that is written again replaces its file by
    the same one.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._parquet: Any = None

    def open(self) -> None:
        """Make the directory.

        Raises:
            MissingExtra: pyarrow is not installed.
        """
        self._parquet = imported("pyarrow.parquet", extra="export")
        try:
            self._directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise _failed(self._directory, error) from error

    def write(self, rows: Sequence[Row]) -> None:
        first = rows[0].values
        start = first["window_start"].replace(":", "").replace("-", "")
        folder = self._directory / first["collection_name"] / first["window_start"][:7]
        # A writer to the topic of answers chooses the name of a series, which may be a path, or too long.
        series = quote(first["series"], safe="")[:_LONGEST_SERIES]
        file = folder / f"{series}-{start}-{first['fingerprint'][:8]}.parquet"
        beginning = file.with_suffix(".part")
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._parquet.write_table(arrow_of(rows), str(beginning))
            with beginning.open("rb") as written:
                os.fsync(written.fileno())
            beginning.replace(file)
        except OSError as error:
            beginning.unlink(missing_ok=True)
            raise _failed(file, error) from error

    def close(self) -> None:
        """Nothing is open between two answers."""


def _failed(path: Path, error: OSError) -> SinkError:
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return SinkAway(f"{path}: no space left on the device")
    return SinkError(f"{path}: cannot be written: {error.strerror}")


#: Name of the table where none is given.
TABLE = "answer_rows"

_TYPES = {
    "text": "TEXT",
    "time": "TIMESTAMPTZ",
    "integer": "BIGINT",
    "number": "DOUBLE PRECISION",
    "truth": "BOOLEAN",
}
#: As the databases name them in their catalogues.
_CATALOGUE = {
    "text": {"text", "character varying", "varchar"},
    "time": {"timestamp with time zone"},
    "integer": {"bigint"},
    "number": {"double precision", "double"},
    "truth": {"boolean"},
}


class Database(ABC):
    """A sink that keeps the rows of an answer in one transaction, in place of those with the same keys."""

    #: What a statement has in place of a value.
    mark: ClassVar[str]

    def __init__(self, *, table: str = TABLE) -> None:
        """Prepare for one table, which is made if it is missing.

        Raises:
            ParameterError: the name needs quotes in SQL.
        """
        if not re.fullmatch(r"[a-z_][a-z0-9_]{0,62}", table):
            raise ParameterError(f"--table {table!r}: use at most 63 lower-case letters, digits and underscores")
        self._table = table
        self._connection: Any = None

    @abstractmethod
    def connected(self) -> Any:
        """Connect, and return the connection."""

    @abstractmethod
    def reason(self, error: Exception) -> SinkError | None:
        """Return the error to raise for one of the database; None for any other."""

    def open(self) -> None:
        """Connect, and make the table or look whether it is such a one."""
        self.close()
        columns = ", ".join(f"{name} {_TYPES[kind]}" for name, kind in COLUMNS.items())
        statement = f"CREATE TABLE IF NOT EXISTS {self._table} ({columns}, PRIMARY KEY ({', '.join(KEY)}))"
        self._connection = self._tried(self.connected)
        try:
            self._tried(lambda: self._do(statement))
            self._require_columns()
        except BaseException:
            self.close()
            raise

    def write(self, rows: Sequence[Row]) -> None:
        """Insert the rows, or update those that are there, all or none of them."""
        names = ", ".join(COLUMNS)
        others = ", ".join(f"{name} = excluded.{name}" for name in COLUMNS if name not in KEY)
        marks = ", ".join([self.mark] * len(COLUMNS))
        statement = (
            f"INSERT INTO {self._table} ({names}) VALUES ({marks}) "  # noqa: S608  names of our own
            f"ON CONFLICT ({', '.join(KEY)}) DO UPDATE SET {others}"
        )
        values = [[_storable(row.values[name]) for name in COLUMNS] for row in rows]
        self._tried(lambda: self._transact(statement, values))

    def close(self) -> None:
        """Disconnect."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _transact(self, statement: str, values: list[list[Any]]) -> None:
        cursor = self._connection.cursor()
        cursor.execute("BEGIN")
        try:
            cursor.executemany(statement, values)
        except BaseException:
            cursor.execute("ROLLBACK")
            raise
        cursor.execute("COMMIT")

    def _do(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        cursor = self._connection.cursor()
        cursor.execute(statement, values)
        return list(cursor.fetchall()) if statement.startswith("SELECT") else []

    def _require_columns(self) -> None:
        """Raise SinkError unless the table has the columns of rows, with their types."""
        found = dict(
            self._tried(
                lambda: self._do(
                    "SELECT column_name, data_type FROM information_schema.columns "  # noqa: S608  a mark of our own
                    f"WHERE table_name = {self.mark} AND table_schema = current_schema()",
                    [self._table],
                )
            )
        )
        wrong = [name for name, kind in COLUMNS.items() if str(found.get(name)).lower() not in _CATALOGUE[kind]]
        if wrong:
            raise SinkError(
                f"table {self._table} is not one of rows: it has no column {wrong[0]} of type "
                f"{_TYPES[COLUMNS[wrong[0]]]}\n  -> another table by --table, or drop this one"
            )

    def _tried(self, act: Any) -> Any:
        """Do something, and raise what the user can understand."""
        try:
            return act()
        except Exception as error:
            if (explained := self.reason(error)) is not None:
                raise explained from error
            raise


def _storable(value: Any) -> Any:
    """Return a value without NUL, which no text of PostgreSQL has and the label of a value may."""
    return value.replace("\0", "\N{REPLACEMENT CHARACTER}") if isinstance(value, str) else value


class DuckDB(Database):
    """A sink in a file of DuckDB."""

    mark = "?"

    def __init__(self, path: str, *, table: str = TABLE) -> None:
        super().__init__(table=table)
        self._path = path

    def connected(self) -> Any:
        connection = imported("duckdb", extra="export").connect(self._path)
        connection.execute("SET TimeZone = 'UTC'")
        return connection

    def reason(self, error: Exception) -> SinkError | None:
        duckdb = imported("duckdb", extra="export")
        text = str(error).splitlines()[0] if str(error) else repr(error)
        if isinstance(error, duckdb.IOException) and "lock" in str(error).lower():
            return SinkAway(f"{self._path}: another program has the file open")
        if isinstance(error, duckdb.OutOfMemoryException | duckdb.IOException) and "space" in str(error).lower():
            return SinkAway(f"{self._path}: no space left on the device")
        return SinkError(f"{self._path}: {text}") if isinstance(error, duckdb.Error) else None


class Postgres(Database):
    """A sink in a database of PostgreSQL."""

    mark = "%s"

    def __init__(self, url: str, *, table: str = TABLE) -> None:
        """Prepare for a database by its address, postgresql://user@host/name; libpq's variables complete it."""
        super().__init__(table=table)
        self._url = url

    def connected(self) -> Any:
        return imported("psycopg", extra="export").connect(self._url, autocommit=True, connect_timeout=10)

    def reason(self, error: Exception) -> SinkError | None:
        psycopg = imported("psycopg", extra="export")
        if not isinstance(error, psycopg.Error):
            return None
        # The first line names what is wrong; an address with a password is in none of its own.
        text = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        state = error.sqlstate or ""
        is_away = isinstance(error, psycopg.OperationalError) and not state.startswith(("28", "3D"))
        # Classes of PostgreSQL's errors: 08 connection, 53 resources such as a full disk, 57 a server that ends.
        if is_away or state.startswith(("08", "53", "57")):
            return SinkAway(f"PostgreSQL: {text}")
        return SinkError(f"PostgreSQL: {text}")
