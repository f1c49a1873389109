"""The recipes of docs/operate/connect.md, each against the real thing: every row is there once."""

import asyncio
import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest

from stream_ldp.kafka.cluster import Cluster
from stream_ldp.kafka.embedded.process import free_ports
from stream_ldp.kafka.producer import Producer, Record
from stream_ldp.kafka.settings import Settings
from stream_ldp.kafka.topics import TopicSpec
from stream_ldp.pipeline.rows import COLUMNS, KEY, published_rows
from tests.cli.export.postgres import running
from tests.client.examples import collection_of, of_minute
from tests.pages.connect import Connect
from tests.pages.page import blocks

PAGE = "docs/operate/connect.md"
#: Seconds for Kafka Connect to start and write, on a busy machine.
SOON_SECONDS = 150.0
FINALS = [of_minute(minute) for minute in (1, 2, 3)]
CELLS = 6


def properties(name: str) -> dict[str, str]:
    """Return the properties that the page shows, by the name in their first line."""
    (text,) = [text for text in blocks(PAGE, "properties") if text.startswith(f"# {name}\n")]
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)


def statement(begins: str) -> str:
    (found,) = [text for text in blocks(PAGE, "sql") if text.startswith(begins)]
    return found


def eventually(found: Callable[[], Any], wanted: Any, connect: Connect) -> None:
    until = time.monotonic() + SOON_SECONDS
    while (now := found()) != wanted:
        assert not (failure := connect.failure()), failure
        assert time.monotonic() < until, now
        time.sleep(0.5)


class Rows:
    """The topic of the rows of a collection on a real Kafka."""

    def __init__(self, settings: Settings, form: bool | str) -> None:
        self._settings, self._form = settings, form
        self.topic = settings.topic_names.rows(collection_of())

    async def publish(self, *finals: Any) -> None:
        producer = Producer(self._settings)
        await producer.start()
        try:
            await producer.publish(
                [Record.of(row, topic=self.topic) for final in finals for row in published_rows(final, self._form)]
            )
        finally:
            await producer.stop()

    async def make(self) -> None:
        async with Cluster.connect(self._settings) as cluster:
            await cluster.create([TopicSpec(name=self.topic, partitions=1, config={})], replication=1)


@pytest.mark.long
@pytest.mark.timeout(600)
def test_a_jdbc_sink_has_each_row_once_though_it_is_killed(settings: Settings, tmp_path: Path) -> None:
    rows = Rows(settings, "connect")
    asyncio.run(rows.make())
    asyncio.run(rows.publish(*FINALS[:2]))
    (port,) = free_ports(1)
    with running(port=port) as server:
        worker = properties("connect.properties") | {"bootstrap.servers": settings.brokers}
        connector = properties("answers-jdbc.properties") | {
            "topics": rows.topic,
            "connection.url": f"jdbc:postgresql://127.0.0.1:{port}/postgres",
            "connection.username": "keeper",
            "connection.password": "none",
        }
        connect = Connect(tmp_path, worker=worker, connector=connector)
        connect.start()
        try:

            def there() -> Any:
                if server.ask("SELECT to_regclass('answer_rows')") == [(None,)]:
                    return None
                return server.ask("SELECT count(*), count(DISTINCT window_start) FROM answer_rows")

            eventually(there, [(2 * CELLS, 2)], connect)
            connect.kill()
            # A worker that was killed after its final publishes the rows of the newest again.
            asyncio.run(rows.publish(*FINALS[1:]))
            connect.start()
            eventually(there, [(3 * CELLS, 3)], connect)
        finally:
            connect.kill()
        types: dict[Any, Any] = dict(
            server.ask(
                "SELECT column_name, data_type FROM information_schema.columns WHERE table_name = 'answer_rows'"
            )
        )
        assert set(types) == set(COLUMNS)
        assert {types[name] for name, kind in COLUMNS.items() if kind == "time"} <= {
            "timestamp without time zone",
            "timestamp with time zone",
        }
        found = server.ask(statement("SELECT window_start, estimate, interval_low"))
        assert sorted(row[1] for row in found) == [0.25] * 3 + [0.3] * 3
        whole = server.ask("SELECT extract(epoch FROM window_start)::int FROM answer_rows GROUP BY 1 ORDER BY 1")
        assert whole == [(60 * minute,) for minute in (1, 2, 3)]


@pytest.mark.long
@pytest.mark.timeout(600)
def test_a_file_sink_writes_lines_of_which_each_key_is_read_once(settings: Settings, tmp_path: Path) -> None:
    rows, file = Rows(settings, True), tmp_path / "answers.jsonl"
    asyncio.run(rows.make())
    asyncio.run(rows.publish(*FINALS))
    asyncio.run(rows.publish(FINALS[-1]))
    worker = properties("connect.properties") | {"bootstrap.servers": settings.brokers}
    connector = properties("answers-file.properties") | {"topics": rows.topic, "file": str(file)}
    connect = Connect(tmp_path, worker=worker, connector=connector)
    connect.start()
    try:
        eventually(lambda: file.read_text().count("\n") if file.exists() else 0, 4 * CELLS, connect)
    finally:
        connect.kill()
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert {tuple(line) for line in lines} == {tuple(COLUMNS)}
    asked = statement("SELECT DISTINCT ON").replace("answers.jsonl", str(file)).rstrip().rstrip(";")
    assert duckdb.sql(f"SELECT count(*) FROM ({asked})").fetchall() == [(3 * CELLS,)]


@pytest.mark.long
def test_clickhouse_has_each_row_once_however_often_it_comes(tmp_path: Path) -> None:
    session = pytest.importorskip("chdb.session", reason="ClickHouse's SQL: pip install chdb")
    file = tmp_path / "answers.jsonl"
    again = [*FINALS, FINALS[-1]]
    file.write_text("".join(f"{row.to_json()}\n" for final in again for row in published_rows(final, True)))
    with session.Session(str(tmp_path / "clickhouse")) as clickhouse:
        clickhouse.query("CREATE DATABASE answers ENGINE = Atomic")
        clickhouse.query("USE answers")
        clickhouse.query(statement("CREATE TABLE"))
        clickhouse.query(statement("INSERT INTO").replace("answers.jsonl", str(file)))
        found = str(clickhouse.query(statement("SELECT window_start, estimate FROM"), "CSV"))
        count = str(clickhouse.query("SELECT count() FROM answer_rows FINAL", "CSV"))
    assert int(count) == 3 * CELLS
    assert re.findall(r'"1970-01-01 00:0(\d):00.000",0.25', found) == ["1", "2", "3"]


def test_the_recipes_name_the_columns_and_keys_that_rows_have() -> None:
    assert properties("answers-jdbc.properties")["primary.key.fields"] == ",".join(KEY)
    made = re.findall(r"(\w+) (?:LowCardinality|DateTime64|UInt|String|Nullable|Bool)", statement("CREATE TABLE"))
    assert made == list(COLUMNS)
