"""Rows in a real PostgreSQL: each once, also where the server or the exporter ends in between."""

import asyncio
import time
from collections.abc import Callable, Iterator

import psycopg
import pytest
from typer.testing import Result

from stream_ldp.cli.export import command
from stream_ldp.cli.export.command import export
from stream_ldp.cli.export.sink import Postgres, SinkAway, SinkError
from stream_ldp.pipeline.rows import rows_of
from tests.cli.export.postgres import SOON_SECONDS, Server, running
from tests.client.answer_topics import published
from tests.client.examples import of_minute

FINALS = [of_minute(minute) for minute in (1, 2, 3)]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running() as made:
        yield made


def test_a_window_is_in_postgresql_once_however_often_it_is_exported(
    server: Server, command_line: Callable[..., Result]
) -> None:
    for _ in range(2):
        with published(*FINALS):
            done = command_line(export, "care-survey", "--to", "postgres", "--target", server.url)
        assert done.exit_code == 0, done.output
    assert server.ask("SELECT count(*), count(DISTINCT window_start) FROM answer_rows") == [(18, 3)]
    found = server.ask(
        "SELECT cell_labels::json->>'mobility', estimate, extract(epoch FROM window_end)::float FROM answer_rows "
        "WHERE cell_name = 'yes, full' ORDER BY window_start"
    )
    assert found == [("full", 0.25, 60.0 * minute) for minute in (2, 3, 4)]


def test_rows_of_half_an_answer_are_not_kept(server: Server) -> None:
    rows = list(rows_of(FINALS[0]))
    sink = Postgres(server.url, table="halves")
    sink.open()
    broken = type(rows[0])(values={**rows[1].values, "estimate": "no number"})
    with pytest.raises(SinkError, match="PostgreSQL: invalid input syntax"):
        sink.write([rows[0], broken])
    assert server.ask("SELECT count(*) FROM halves") == [(0,)]
    sink.write(rows)
    assert server.ask("SELECT count(*) FROM halves") == [(6,)]
    sink.close()


def test_a_label_with_a_character_that_postgresql_does_not_store_stops_no_export(server: Server) -> None:
    rows = list(rows_of(FINALS[0]))
    sink = Postgres(server.url, table="labels")
    sink.open()
    sink.write([type(rows[0])(values={**rows[0].values, "cell_name": "a\0b"})])
    assert server.ask("SELECT cell_name FROM labels") == [("a\N{REPLACEMENT CHARACTER}b",)]
    sink.close()


def test_a_server_that_ends_is_waited_for_and_then_has_each_row_once(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "_PAUSE_SECONDS", 0.05)
    sink = Postgres(server.url, table="waited")
    sink.open()
    sink.write(list(rows_of(FINALS[0])))
    server.stop()
    with pytest.raises(SinkAway):
        sink.write(list(rows_of(FINALS[1])))

    async def write() -> None:
        writing = asyncio.create_task(command._write(sink, list(rows_of(FINALS[1])), waits=True))
        await asyncio.sleep(0.2)
        assert not writing.done()
        await asyncio.to_thread(server.start)
        async with asyncio.timeout(SOON_SECONDS):
            await writing

    asyncio.run(write())
    assert server.ask("SELECT count(*), count(DISTINCT window_start) FROM waited") == [(12, 2)]
    sink.close()


def test_a_server_that_is_not_there_is_away_and_a_database_that_is_not_is_an_error(server: Server) -> None:
    began = time.monotonic()
    with pytest.raises(SinkAway, match="PostgreSQL: connection"):
        Postgres("postgresql://127.0.0.1:1/postgres").open()
    assert time.monotonic() - began < SOON_SECONDS
    with pytest.raises(SinkError) as refused:
        Postgres(server.url.replace("/postgres?", "/nothing?")).open()
    assert 'database "nothing" does not exist' in str(refused.value)


def test_a_table_of_another_schema_is_refused(server: Server) -> None:
    server_url = server.url
    with psycopg.connect(server_url) as connection:
        connection.execute("CREATE TABLE other (fingerprint TEXT, estimate TEXT)")
    with pytest.raises(SinkError, match="table other is not one of rows: it has no column collection_name"):
        Postgres(server_url, table="other").open()
