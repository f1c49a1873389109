"""Fixtures of the tests of the service: mergers without a broker."""

import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from stream_ldp.kafka.memory import connected
from stream_ldp.kafka.settings import Settings
from stream_ldp.pipeline.answer import Answer
from stream_ldp.pipeline.window_task import WindowTask
from stream_ldp.records.collection import JointCollection
from stream_ldp.service import collection_merger, finals, holding
from stream_ldp.service.merger import Merger
from stream_ldp.service.metrics import Metrics
from stream_ldp.service.windows_log import AnswersLog
from tests.service.mergers import MAKING, SHY, SMALL, WIDE, Installation, Published, ReportsTopics, quick_answer


@pytest.fixture
def published(monkeypatch: pytest.MonkeyPatch) -> Published:
    async def empty(*_: object, **__: object) -> AsyncIterator[Any]:
        return
        yield

    async def none(*_: object) -> dict[str, int]:
        return {}

    monkeypatch.setattr(AnswersLog, "read", empty)
    monkeypatch.setattr(collection_merger, "partials_log", empty)
    monkeypatch.setattr(holding, "released", none)
    return Published()


@pytest.fixture
def reports_topics() -> ReportsTopics:
    return ReportsTopics()


@pytest.fixture
def metrics() -> Metrics:
    return Metrics(["small", "wide", "shy", "making"])


@pytest.fixture
async def merger(published: Published, reports_topics: ReportsTopics, metrics: Metrics) -> AsyncIterator[Merger]:
    merger = Merger(
        [SMALL, WIDE, SHY, MAKING],
        settings=Settings.load(),
        producer=published,  # type: ignore[arg-type]
        writers=published.writer,
        cluster=reports_topics,  # type: ignore[arg-type]
        metrics=metrics,
    )
    await merger.take_over(set(range(64)))
    yield merger
    await merger.on_stop()


@pytest.fixture
def finish(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Let every solve of the wide collection last until this is set."""
    done = threading.Event()

    def slow(collection: JointCollection, task: WindowTask[Any, Any]) -> Answer:
        if collection.name == "wide":
            done.wait()
        return quick_answer(collection, task)

    monkeypatch.setattr("stream_ldp.merge_step.solve", slow)
    yield done
    done.set()


@pytest.fixture
def installation(metrics: Metrics, monkeypatch: pytest.MonkeyPatch) -> Iterator[Installation]:
    """An installation whose solves take no time; what has been shut out comes back at once."""
    monkeypatch.setattr("stream_ldp.merge_step.solve", quick_answer)
    monkeypatch.setattr(finals, "YIELD_SECONDS", 0.0)
    installation = Installation(metrics)
    with connected(installation.broker):
        yield installation
