"""Tests that the embedded broker keeps what it acknowledged, ends with its parent, and says why it cannot start."""

import asyncio
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.admin import NewTopic

from stream_ldp.kafka.embedded import EmbeddedBrokerError, EmbeddedKafka, node
from stream_ldp.kafka.embedded.jars import ClassArchive, fetch_jars
from stream_ldp.kafka.embedded.process import accepts, find_java
from tests.kafka.embedded.administration import administration


async def _create(bootstrap: str, topic: str) -> None:
    async with administration(bootstrap) as admin:
        await admin.create_topics([NewTopic(topic, 1, 1)])


async def _produce(bootstrap: str, topic: str, value: bytes) -> None:
    async with AIOKafkaProducer(bootstrap_servers=bootstrap, acks="all") as producer:
        await producer.send_and_wait(topic, value)


async def _read(bootstrap: str, topic: str) -> list[bytes]:
    found: list[bytes] = []
    async with AIOKafkaConsumer(topic, bootstrap_servers=bootstrap, auto_offset_reset="earliest") as consumer:
        (partition,) = consumer.assignment()
        end = (await consumer.end_offsets([partition]))[partition]
        while await consumer.position(partition) < end:
            found += [record.value for record in (await consumer.getmany(timeout_ms=1_000)).get(partition, [])]
    return found


# Under its old ports, tests of the service and of clients kill a broker and count what it kept.
@pytest.mark.long
@pytest.mark.usefixtures("kafka")
def test_a_broker_keeps_its_records_when_it_is_killed_and_under_new_ports(tmp_path: Path) -> None:
    """That it keeps its address when it is restarted, and its records when it is stopped, other tests rely on."""
    with EmbeddedKafka(data=tmp_path) as first:
        asyncio.run(_create(first.bootstrap, "kept"))
        asyncio.run(_produce(first.bootstrap, "kept", b"acknowledged"))
        first.kill()
        with EmbeddedKafka(data=tmp_path) as second:
            assert second.bootstrap != first.bootstrap
            assert asyncio.run(_read(second.bootstrap, "kept")) == [b"acknowledged"]
    # Kafka leaves this behind when it was stopped in good order, and reads its whole log again when it was not.
    assert (tmp_path / "log" / ".kafka_cleanshutdown").exists()


def test_a_broker_uses_the_archive_of_its_classes_from_its_first_start(kafka: EmbeddedKafka) -> None:
    archive = ClassArchive.of(find_java(), fetch_jars())
    assert archive.file.stat().st_size > 1e7
    processes = subprocess.run(("ps", "-A", "-ww", "-o", "args="), capture_output=True, text=True, check=True).stdout
    brokers = [line for line in processes.splitlines() if str(kafka.data) in line]
    assert brokers
    assert all(f"-XX:SharedArchiveFile={archive.file}" in line for line in brokers)


def test_what_guards_a_broker_ends_it_at_once_when_its_parent_is_gone() -> None:
    with subprocess.Popen(("/bin/sh", "-c", node._GUARD, "sh", "sleep", "600"), stdin=subprocess.PIPE) as guard:
        assert guard.stdin is not None
        guard.stdin.close()
        assert guard.wait(30) == 128 + signal.SIGKILL


@pytest.mark.long
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
        assert accepts(port)
        parent.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 30
    while accepts(port):
        assert time.monotonic() < deadline, "the broker still listens"
        time.sleep(0.05)


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
    monkeypatch.setattr(node, "START_TIMEOUT_SECONDS", 0.0)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(EmbeddedBrokerError, match=r"did not answer on [0-9.:]+ within 0 s"), EmbeddedKafka():
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_port_in_use_is_not_mistaken_for_our_own_broker(kafka: EmbeddedKafka) -> None:
    with pytest.raises(EmbeddedBrokerError, match=f"port {kafka.port} is in use already"):
        EmbeddedKafka(port=kafka.port).start()
