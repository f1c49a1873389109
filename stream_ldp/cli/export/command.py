"""This command exports final answers as flat rows, to standard output, files or a database."""

from __future__ import annotations

import asyncio
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stream_ldp.cli.arguments import CollectionOrName, EstimateNames, Since, milliseconds
from stream_ldp.cli.echo import echo, echo_json, echo_problem
from stream_ldp.cli.export.sink import TABLE, DuckDB, ParquetFolder, Postgres, SinkAway
from stream_ldp.cli.failure import fail
from stream_ldp.cli.named import collection_or_name, read_as, require_series
from stream_ldp.cli.options import CLIENT, with_settings
from stream_ldp.cli.running import until_signal
from stream_ldp.client.subscriber import Subscriber, readable
from stream_ldp.kafka.settings import Settings
from stream_ldp.pipeline.rows import rows_of
from stream_ldp.quantity import quantity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stream_ldp.cli.export.sink import Sink
    from stream_ldp.collection.labels import Labels
    from stream_ldp.pipeline.rows import Row

#: Seconds before a sink that was away is tried again, doubled up to the second number.
_PAUSE_SECONDS, _MAX_PAUSE_SECONDS = 1.0, 60.0


class To(StrEnum):
    """Where rows go."""

    STDOUT = "stdout"
    PARQUET = "parquet"
    DUCKDB = "duckdb"
    POSTGRES = "postgres"


@with_settings(CLIENT)
async def export(
    collection: CollectionOrName,
    *,
    to: Annotated[To, typer.Option("--to", help="What takes the rows.")] = To.STDOUT,
    target: Annotated[
        str | None,
        typer.Option(
            "--target",
            help="Directory of Parquet files, file of DuckDB, or address of a PostgreSQL database such as "
            "postgresql://user@host/name. A password belongs into PGPASSWORD or a password file.",
            show_default=False,
        ),
    ] = None,
    table: Annotated[str, typer.Option(help="Table of a database; it is made if it is missing.")] = TABLE,
    estimate: EstimateNames = None,
    since: Since = None,
    follow: Annotated[bool, typer.Option("--follow", help="Go on with each new final, until Ctrl-C.")] = False,
    settings: Settings,
) -> None:
    """Write each final answer that the topic has as rows, one a cell.

    All collections have the same columns: name and fingerprint of the collection, series, bounds of the window in ISO
    8601, reports, what the cell is about, its estimate, standard error and 95 % interval. Window and cell are the key
    of a row, and one that is there is replaced: after a restart each is there once. With --follow, a sink that is
    away or full is waited for.
    """
    sink = _sink(to, target, table)
    known = collection_or_name(collection)
    require_series(known, estimate)
    sink.open()
    subscriber: Subscriber[Any] = Subscriber(
        known, settings=settings, series=estimate, finals_only=True, from_beginning=True, follow=follow
    )

    async def run() -> None:
        _, labels = await read_as(known, settings=settings, series=estimate)
        await _export(subscriber, sink, labels=labels, since_ms=milliseconds(since), waits=follow, to=to)

    await until_signal(run())


def _sink(to: To, target: str | None, table: str) -> Sink:
    if to is To.STDOUT:
        if target is not None:
            fail("--target is for files and databases: leave it out, or say which by --to", code=2)
        return Lines()
    if target is None:
        fail(f"--to {to} needs --target, which says where", code=2)
    match to:
        case To.PARQUET:
            return ParquetFolder(Path(target))
        case To.DUCKDB:
            return DuckDB(target, table=table)
        case _:
            return Postgres(target, table=table)


async def _export(
    subscriber: Subscriber[Any], sink: Sink, *, labels: Labels, since_ms: int | None, waits: bool, to: To
) -> None:
    """Write the rows of every answer, in order, and say on standard error which records are none."""
    answers = written = 0
    try:
        async with subscriber:
            async for answer in readable(subscriber, on_unreadable=echo_problem):
                if not answer.final or (since_ms is not None and answer.window.start_ms < since_ms):
                    continue
                if rows := list(rows_of(answer, labels=labels)):
                    await _write(sink, rows, waits=waits)
                    answers, written = answers + 1, written + len(rows)
    finally:
        sink.close()
        if to is not To.STDOUT:
            echo(f"{quantity(written, 'row')} of {quantity(answers, 'final answer')} written", err=True)


async def _write(sink: Sink, rows: Sequence[Row], *, waits: bool) -> None:
    """Write the rows of one answer; a sink that is away is waited for, if that is wanted.

    Raises:
        SinkError: the sink does not take them.
    """
    pause, is_open = _PAUSE_SECONDS, True
    while True:
        try:
            if not is_open:
                await asyncio.to_thread(sink.open)
            await asyncio.to_thread(sink.write, rows)
        except SinkAway as error:
            if not waits:
                raise
            if pause == _PAUSE_SECONDS:
                echo(f"{error}: waiting for it", err=True)
            is_open = False
            await asyncio.sleep(pause)
            pause = min(2 * pause, _MAX_PAUSE_SECONDS)
        else:
            return


class Lines:
    """A sink that prints: after a restart, the lines of a window may come again."""

    def open(self) -> None:
        """Nothing needs to be opened."""

    def write(self, rows: Sequence[Row]) -> None:
        """Print the rows."""
        for row in rows:
            echo_json(row.to_json())
        sys.stdout.flush()

    def close(self) -> None:
        """Nothing needs to be closed."""
