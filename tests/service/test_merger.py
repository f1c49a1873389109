"""Tests of the merger without a broker: what must hold whatever Kafka does."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any

import pytest

from stream_ldp.kafka.settings import Settings
from stream_ldp.kinds import solve
from stream_ldp.pipeline import partials
from stream_ldp.pipeline.answer import is_provisional
from stream_ldp.pipeline.quarantine import LogEntry
from stream_ldp.records.answer import Estimate
from stream_ldp.records.collection import JointCollection
from stream_ldp.service import merger as merger_module
from stream_ldp.service.merger import Merger
from stream_ldp.service.metrics import Metrics
from tests.pipeline.test_merging import partial, watermark
from tests.service.harness import SURVEY

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator

    from stream_ldp.kafka.producer import Record
    from stream_ldp.pipeline.answer import Answer
    from stream_ldp.pipeline.question import Question

SMALL, WIDE = (JointCollection.parse(SURVEY.format(name=name)) for name in ("small", "wide"))

#: Longest wait, in seconds, before a test fails.
SOON = 20.0


class Published:
    """A producer that keeps what it is given; the topics of answers are empty at first."""

    def __init__(self) -> None:
        self.records: list[Record] = []
        self._news = asyncio.Event()

    async def publish(self, records: Iterable[Record]) -> None:
        self.records += records
        self._news.set()

    async def finals_of(self, collection: JointCollection, *, number: int) -> list[int]:
        """Wait for finals of a collection, and return their numbers of reports."""
        while True:
            self._news.clear()
            answers = [
                answer.reports
                for record in self.records
                if not is_provisional(record.key or b"")
                and (answer := Estimate.from_bytes(record.value)).collection == collection.name
            ]
            if len(answers) >= number:
                return answers
            await self._news.wait()


@pytest.fixture
def published(monkeypatch: pytest.MonkeyPatch) -> Published:
    async def empty(*_: object, **__: object) -> AsyncIterator[Any]:
        return
        yield

    async def none(*_: object) -> dict[str, int]:
        return {}

    monkeypatch.setattr(merger_module, "read_answers", empty)
    monkeypatch.setattr(merger_module, "partials_log", empty)
    monkeypatch.setattr(merger_module, "released", none)
    return Published()


@pytest.fixture
async def merger(published: Published) -> AsyncIterator[Merger]:
    merger = Merger(
        [SMALL, WIDE],
        settings=Settings.load(),
        report_partitions={"small": 1, "wide": 1},
        producer=published,  # type: ignore[arg-type]
        cluster=None,  # type: ignore[arg-type]
        metrics=Metrics(["small", "wide"]),
    )
    await merger.take_over(set(range(64)))
    yield merger
    await merger.on_stop()


@pytest.fixture
def finish(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Let every solve of the wide collection last until this is set."""
    done = threading.Event()

    def slow(collection: JointCollection, question: Question[Any, Any]) -> Answer:
        if collection.name == "wide":
            done.wait()
        return solve(collection, question)

    monkeypatch.setattr("stream_ldp.service.solver.solve", slow)
    yield done
    done.set()


async def tell(merger: Merger, collection: JointCollection, *, windows: int) -> None:
    """Let the merger read partials of so many windows, a report in each, and what closes them."""
    spec, size_ms = collection.estimates[0], collection.window.size_ms
    records: list[partials.Partial | partials.Watermark] = [
        partial(number + 1, collection=collection, spec=spec, pane_ms=number * size_ms) for number in range(windows)
    ]
    closes_ms = windows * size_ms + collection.window.grace_ms
    partition = partials.partition_of(collection.name, partitions=Settings.load().partials_partitions)
    for offset, record in enumerate((*records, watermark(closes_ms, collection=collection))):
        key, value = partials.encode(record, writer="w")
        await merger.apply(LogEntry.read("partials", partition, offset, key=key, value=value, fault=None))


async def test_finals_of_a_small_collection_do_not_wait_for_the_slow_solves_of_another(
    merger: Merger, published: Published, finish: threading.Event
) -> None:
    await tell(merger, WIDE, windows=2)
    await asyncio.sleep(0.1)
    await tell(merger, SMALL, windows=5)
    assert await asyncio.wait_for(published.finals_of(SMALL, number=5), SOON) == [1, 2, 3, 4, 5]
    assert len(published.records) == 5
    finish.set()
    assert await asyncio.wait_for(published.finals_of(WIDE, number=2), SOON) == [1, 2]


async def test_the_event_loop_turns_at_least_once_for_each_final_of_a_backlog(
    merger: Merger, published: Published
) -> None:
    await tell(merger, SMALL, windows=50)
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    counting = asyncio.create_task(count())
    finals = await asyncio.wait_for(published.finals_of(SMALL, number=50), SOON)
    counting.cancel()
    assert finals == list(range(1, 51))
    assert turns > 50
