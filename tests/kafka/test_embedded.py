"""The embedded broker: it keeps what it acknowledged, ends with its parent, and says what it lacks."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import time
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.structs import OffsetAndMetadata

from stream_ldp.kafka import embedded
from stream_ldp.kafka.embedded import EmbeddedBrokerError, EmbeddedKafka, EmbeddedMock, MissingTool

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable


@asynccontextmanager
async def _administration(bootstrap: str) -> AsyncIterator[Any]:
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    try:
        await admin.start()
        yield admin
    finally:
        await admin.close()


async def _create(bootstrap: str, topic: str) -> None:
    async with _administration(bootstrap) as admin:
        await admin.create_topics([NewTopic(topic, 1, 1)])


async def _produce(bootstrap: str, topic: str, value: bytes) -> None:
    async with AIOKafkaProducer(bootstrap_servers=bootstrap, acks="all") as producer:
        await producer.send_and_wait(topic, value)


async def _read(bootstrap: str, topic: str) -> list[bytes]:
    async with AIOKafkaConsumer(topic, bootstrap_servers=bootstrap, auto_offset_reset="earliest") as consumer:
        fetched = await consumer.getmany(timeout_ms=5_000)
        return [record.value for records in fetched.values() for record in records]


async def test_a_broker_killed_and_restarted_has_lost_no_record_and_kept_its_address(
    kafka: EmbeddedKafka, prefix: str
) -> None:
    before = kafka.bootstrap
    await _create(kafka.bootstrap, prefix)
    await _produce(kafka.bootstrap, prefix, b"acknowledged")
    await asyncio.to_thread(kafka.restart)
    assert kafka.bootstrap == before
    assert await _read(kafka.bootstrap, prefix) == [b"acknowledged"]


@pytest.mark.usefixtures("kafka")
def test_a_reused_data_directory_keeps_its_topics_under_new_ports(tmp_path: Path) -> None:
    with EmbeddedKafka(data=tmp_path) as first:
        asyncio.run(_create(first.bootstrap, "kept"))
        asyncio.run(_produce(first.bootstrap, "kept", b"stopped in good order"))
    with EmbeddedKafka(data=tmp_path) as second:
        assert second.bootstrap != first.bootstrap
        assert asyncio.run(_read(second.bootstrap, "kept")) == [b"stopped in good order"]


@pytest.mark.usefixtures("kafka")
def test_no_broker_outlives_a_parent_that_is_killed() -> None:
    program = (
        "import time; from stream_ldp.kafka.embedded import EmbeddedKafka\n"
        "with EmbeddedKafka() as kafka: print(kafka.port, flush=True); time.sleep(600)"
    )
    parent = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    with parent:
        port = int(parent.stdout.readline())
        assert embedded._accepts(port)
        parent.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 30
    while embedded._accepts(port):
        assert time.monotonic() < deadline, "the broker still listens"
        time.sleep(0.05)


@pytest.mark.usefixtures("kafka")
def test_the_broker_command_stops_the_broker_cleanly_on_sigterm(tmp_path: Path) -> None:
    program = "import typer; from stream_ldp.cli.broker import broker; typer.run(broker)"
    port = EmbeddedKafka().port
    command = [sys.executable, "-u", "-c", program, "--port", str(port), "--data", str(tmp_path / "data")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert f"listens on 127.0.0.1:{port}" in process.stdout.readline()
        process.terminate()
        assert process.wait(30) == 0
    assert not embedded._accepts(port)
    # Kafka leaves this behind when it was stopped in good order, and reads its whole log again when it was not.
    assert (tmp_path / "data" / "log" / ".kafka_cleanshutdown").exists()


@pytest.mark.usefixtures("kafka")
def test_a_broker_that_cannot_start_is_quoted(tmp_path: Path) -> None:
    (tmp_path / "log").mkdir()
    (tmp_path / "log" / "meta.properties").write_text("version=1\nnode.id=7\ncluster.id=another\n")
    with pytest.raises(EmbeddedBrokerError, match=r"(?s)ended with code 1 while it started.*node.*7"):
        EmbeddedKafka(data=tmp_path).start()


@pytest.mark.usefixtures("kafka")
def test_a_broker_that_starts_too_slowly_is_an_error_and_leaves_nothing_behind(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(embedded, "START_TIMEOUT_SECONDS", 0.0)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(EmbeddedBrokerError, match=r"did not answer on [0-9.:]+ within 0 s"), EmbeddedKafka():
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_port_in_use_is_not_mistaken_for_our_own_broker(kafka: EmbeddedKafka) -> None:
    with pytest.raises(EmbeddedBrokerError, match=f"port {kafka.port} is in use already"):
        EmbeddedKafka(port=kafka.port).start()


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """A machine whose java and mvn are what the test writes, with nothing fetched yet."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("STREAM_LDP_KAFKA_HOME", str(tmp_path / "cache"))

    def write(name: str, body: str) -> None:
        (tmp_path / name).write_text(f"#!/bin/sh\nPATH=/usr/bin:/bin\n{body}\n")
        (tmp_path / name).chmod(0o755)

    write("java", """echo 'openjdk version "21.0.1" 2023-10-17' >&2""")
    return write


def test_without_java_the_message_says_which_java_is_needed(
    tmp_path: Path, script: Callable[[str, str], None]
) -> None:
    (tmp_path / "java").unlink()
    with pytest.raises(MissingTool, match="no java on PATH: the embedded Kafka needs a Java 17 runtime or later"):
        EmbeddedKafka().start()


@pytest.mark.parametrize(("printed", "found"), [("1.8.0_392", "8"), ("11.0.2", "11")])
def test_an_old_java_is_named_with_its_version(printed: str, found: str, script: Callable[[str, str], None]) -> None:
    script("java", f"""echo 'openjdk version "{printed}" 2018-10-16' >&2""")
    with pytest.raises(MissingTool, match=f"is Java {found}: the embedded Kafka needs 17 or later"):
        EmbeddedKafka().start()


def test_without_maven_the_message_says_what_it_is_for(script: Callable[[str, str], None]) -> None:
    with pytest.raises(MissingTool, match="no mvn on PATH: Maven fetches Kafka's jars"):
        EmbeddedKafka().start()


def test_a_failed_fetch_quotes_maven_and_leaves_no_cache_behind(
    tmp_path: Path, script: Callable[[str, str], None]
) -> None:
    script("mvn", "mkdir -p $(dirname $6)/jars; echo '[ERROR] repository is down'; exit 1")
    with pytest.raises(EmbeddedBrokerError, match="repository is down"):
        EmbeddedKafka().start()
    assert list((tmp_path / "cache").iterdir()) == []


def test_an_interrupted_fetch_is_not_taken_for_a_finished_one(
    tmp_path: Path, script: Callable[[str, str], None]
) -> None:
    fetch = (
        "for each; do case $each in -DoutputDirectory=*) out=${each#*=};; esac; done; mkdir $out; touch $out/a.jar"
    )
    script("mvn", f"{fetch}; kill -9 $$")
    with pytest.raises(EmbeddedBrokerError, match="Maven could not fetch Kafka"):
        EmbeddedKafka().start()
    script("mvn", f"{fetch}; touch $out/b.jar")
    assert sorted(jar.name for jar in embedded._fetch_jars().iterdir()) == ["a.jar", "b.jar"]


def test_of_two_simultaneous_fetches_the_later_one_uses_the_jars_of_the_first(
    tmp_path: Path, script: Callable[[str, str], None]
) -> None:
    other = tmp_path / "cache" / f"kafka-{embedded.KAFKA_VERSION}-log4j-{embedded.LOG4J_VERSION}"
    fetch = (
        "for each; do case $each in -DoutputDirectory=*) out=${each#*=};; esac; done; mkdir $out; touch $out/a.jar"
    )
    script("mvn", f"{fetch}; mkdir -p {other}; touch {other}/first.jar")
    assert [jar.name for jar in embedded._fetch_jars().iterdir()] == ["first.jar"]
    assert list((tmp_path / "cache").iterdir()) == [other]


async def test_the_mock_gives_a_group_its_records_and_keeps_a_commit_with_its_metadata() -> None:
    pytest.importorskip("confluent_kafka", reason="the demo extra is not installed")
    partition = TopicPartition("reports", 2)
    with EmbeddedMock() as mock:
        mock.touch(["reports"])
        async with AIOKafkaProducer(bootstrap_servers=mock.bootstrap, enable_idempotence=True) as producer:
            await producer.send_and_wait("reports", b"first", partition=2)
        async with AIOKafkaConsumer(
            "reports",
            bootstrap_servers=mock.bootstrap,
            group_id="group",
            enable_auto_commit=False,
            auto_offset_reset="earliest",
        ) as consumer:
            assert (await consumer.getone()).value == b"first"
            await consumer.commit({partition: OffsetAndMetadata(1, "watermark 7")})
        async with _administration(mock.bootstrap) as admin:
            commits = await admin.list_consumer_group_offsets("group", partitions=[partition])
        assert commits == {partition: OffsetAndMetadata(1, "watermark 7")}


def test_the_mock_ends_with_the_block_that_uses_it() -> None:
    pytest.importorskip("confluent_kafka", reason="the demo extra is not installed")
    with EmbeddedMock() as mock:
        port = int(mock.bootstrap.rpartition(":")[2])
        assert embedded._accepts(port)
    assert not embedded._accepts(port)


def test_without_confluent_kafka_the_mock_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    with pytest.raises(MissingTool, match=r"pip install 'stream-ldp\[demo\]'"):
        EmbeddedMock()
