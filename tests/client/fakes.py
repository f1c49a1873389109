"""A broker in memory that obeys the test, for the client's own logic."""

import asyncio
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar
from unittest.mock import ANY

import pytest
from aiokafka.errors import KafkaError
from typer.testing import CliRunner, Result

from stream_ldp.cli import app
from stream_ldp.client import outbox, registration, round_feed
from stream_ldp.collection import Collection
from stream_ldp.kafka import log, producer
from stream_ldp.kafka.memory import MemoryBatch
from stream_ldp.kafka.registry import Registration
from stream_ldp.kinds import kind_of
from stream_ldp.mechanisms import OSEntropy
from stream_ldp.pipeline import wire
from tests.client.examples import collection_of, write_survey
from tests.client.items import FakeRoundsConsumer, LoopTimeline, Timeline, minutes

AnyTimeline = TypeVar("AnyTimeline", bound=Timeline)


@dataclass
class FakeBroker:
    """A broker that keeps what it is sent, and acknowledges it at once, with an error, or only when released.

    sent: (topic, arguments of send) of every record.
    appends_at_ms: the broker's clock, where an acknowledgement tells it.
    registered: the registration of each name; those that are not in it are registered as each client has them.
    """

    topics: set[str] = field(default_factory=lambda: {"stream-ldp.care-survey.reports"})
    sent: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    registered: dict[str, Registration | None] = field(default_factory=dict)
    error: KafkaError | None = None
    appends_at_ms: int | None = None
    holding: bool = False
    stopped: list[str] = field(default_factory=list)
    arrival: asyncio.Event = field(default_factory=asyncio.Event)
    _waiting: list[asyncio.Future[Any]] = field(default_factory=list)

    def receive(self, topic: str, **arguments: Any) -> asyncio.Future[Any]:
        self.sent.append((topic, arguments))
        self.arrival.set()
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        if self.error is not None:
            answer.set_exception(self.error)
        elif self.holding:
            self._waiting.append(answer)
        elif self.appends_at_ms is not None:
            answer.set_result(SimpleNamespace(timestamp=self.appends_at_ms, timestamp_type=1))
        else:
            answer.set_result(None)
        return answer

    def release(self) -> None:
        """Acknowledge every record that is held back."""
        self.holding = False
        for answer in self._waiting:
            if not answer.done():
                answer.set_result(None)

    def decoded(self, collection: Collection | None = None) -> wire.Decoded:
        """Decode all batches as a worker reads them; every one must be good."""
        collection = collection or collection_of()
        values = [arguments["value"] for _, arguments in self.sent]
        decoded = wire.decode(values, formats={collection.fingerprint: kind_of(collection).layout(collection)})
        assert decoded.rejected == []
        return decoded


class FakeProducer:
    """The part of aiokafka's producer that the client uses, on a `FakeBroker`."""

    def __init__(self, broker: FakeBroker, options: dict[str, Any]) -> None:
        assert options["acks"] == "all"
        assert options["enable_idempotence"] is False, "a producer id is a pseudonym"
        self._broker = broker
        self._closed = False
        self.client = SimpleNamespace(fetch_all_metadata=self._fetch_all_metadata, close=self._close_client)
        self._sender = SimpleNamespace(close=self._close_sender)

    async def start(self) -> None:
        return

    async def send(self, topic: str, **arguments: Any) -> asyncio.Future[Any]:
        return self._broker.receive(topic, **arguments)

    async def partitions_for(self, topic: str) -> set[int]:
        return {0}

    def create_batch(self) -> MemoryBatch:
        return MemoryBatch()

    async def send_batch(self, batch: MemoryBatch, topic: str, *, partition: int) -> asyncio.Future[Any]:
        return [self._broker.receive(topic, partition=partition, **each) for each in batch.records][-1]

    async def stop(self) -> None:
        self._broker.stopped.append("producer")

    async def _fetch_all_metadata(self) -> Any:
        return SimpleNamespace(topics=lambda: self._broker.topics)

    async def _close_sender(self) -> None:
        self._broker.stopped.append("sender")

    async def _close_client(self) -> None:
        self._broker.stopped.append("client")


@pytest.fixture
def broker(monkeypatch: pytest.MonkeyPatch) -> FakeBroker:
    """Replace the broker of every `Reporter` of the test."""
    fake = FakeBroker()

    async def reachable(settings: object) -> None:
        return

    monkeypatch.setattr(producer, "AIOKafkaProducer", lambda **options: FakeProducer(fake, options))

    async def read_registration(settings: object, name: str) -> Registration | None:
        return fake.registered.get(name, Registration(name=name, fingerprint=ANY, document={}))

    monkeypatch.setattr(outbox, "check_connection", reachable)
    monkeypatch.setattr(registration, "read_registration", read_registration)
    return fake


@pytest.fixture
def timeline(monkeypatch: pytest.MonkeyPatch, broker: FakeBroker) -> Timeline:
    """Replace the time and the rounds topic of every client of the example item collection in the test."""
    return followed(Timeline(now_ms=minutes(0)), monkeypatch, broker)


@pytest.fixture
def loop_timeline(monkeypatch: pytest.MonkeyPatch, broker: FakeBroker) -> LoopTimeline:
    """Replace the same by those of the event loop's time."""
    return followed(LoopTimeline(now_ms=minutes(0)), monkeypatch, broker)


def followed(line: AnyTimeline, monkeypatch: pytest.MonkeyPatch, broker: FakeBroker) -> AnyTimeline:
    """Let every client of item collections follow this timeline, and return it."""
    broker.topics |= {"stream-ldp.films.reports", "stream-ldp.films.rounds"}

    async def reachable(settings: object) -> None:
        return

    monkeypatch.setattr(log, "SturdyConsumer", lambda **options: FakeRoundsConsumer(line, broker))
    monkeypatch.setattr(round_feed, "check_connection", reachable)
    return line


@pytest.fixture
def os_words(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Record the number of words that each call draws from the operating system."""
    drawn: list[int] = []
    original = OSEntropy.words

    def words(self: OSEntropy, n: int) -> Any:
        drawn.append(n)
        return original(self, n)

    monkeypatch.setattr(OSEntropy, "words", words)
    return drawn


@pytest.fixture
def command_line(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Result]]:
    """Run a client command in this process; it must not end by an unexpected exception."""
    logger = logging.getLogger("aiokafka")
    level = logger.level
    monkeypatch.setenv("COLUMNS", "200")

    def run(command: Callable[..., None], *arguments: object) -> Result:
        result = CliRunner().invoke(app, [command.__name__, *map(str, arguments)])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    yield run
    logger.setLevel(level)


@pytest.fixture
def survey(tmp_path: Path) -> Path:
    """Write the file of the example collection."""
    return write_survey(tmp_path / "survey.yaml")
