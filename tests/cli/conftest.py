"""What tests of several commands share."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from stream_ldp.client.reporter import now_ms
from stream_ldp.kafka.settings import Settings
from stream_ldp.records.collection import JointCollection
from stream_ldp.testing import KafkaInMemory, kafka_in_memory
from tests.cli.films import QUICK, epochs_to_come, written
from tests.client.examples import collection_of
from tests.client.fakes import FakeBroker, followed
from tests.client.items import LoopTimeline, film_round, films
from tests.in_memory import START_MS, report
from tests.records.examples import TOWNS_TEXT
from tests.service.lived import Lived, live
from tests.service.test_preflight import CARE


class _RealTime(LoopTimeline):
    def __call__(self) -> int:
        return now_ms()


@pytest.fixture(autouse=True)
def _no_width(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take away the width of a terminal that processes of tests are told, which pipes do not have."""
    monkeypatch.delenv("COLUMNS", raising=False)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch, broker: FakeBroker, tmp_path: Path) -> Path:
    """Write the file of a collection whose later phases are asked in the epochs of the next seconds."""
    collection = films(**QUICK)
    line = followed(_RealTime(now_ms=now_ms()), monkeypatch, broker)
    for epoch in epochs_to_come(collection):
        asked = film_round(2, epoch=epoch, collection=collection, candidates=range(4))
        line.publish(asked, at_ms=asked.start_ms + 100)
    return written(tmp_path)


@pytest.fixture
def care_file(tmp_path: Path) -> Path:
    """Write the file of the collection of `lived`."""
    path = tmp_path / "care.yaml"
    path.write_text(CARE, encoding="utf-8")
    return path


@pytest.fixture
def lived(settings: Settings) -> Lived:
    """Let a collection be counted on the broker for some windows."""
    return asyncio.run(live(settings, JointCollection.parse(CARE), now_ms=now_ms()))


@pytest.fixture
def towns_file(tmp_path: Path) -> Path:
    """Write the file of a collection of records with a narrow estimate and a wide one."""
    path = tmp_path / "survey.yaml"
    path.write_text(TOWNS_TEXT, encoding="utf-8")
    return path


@pytest.fixture
def answered() -> Iterator[KafkaInMemory]:
    """Let 600 users report to the survey on a Kafka in memory, which has its finals."""
    with kafka_in_memory(collection_of(), now_ms=START_MS) as memory:
        asyncio.run(report(memory, collection_of(), 600))
        memory.close_windows()
        yield memory
