"""Tests of the merger without a broker: what must hold whatever Kafka does."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

import pytest

from stream_ldp.kafka.settings import Settings
from stream_ldp.kinds import solve
from stream_ldp.pipeline.merging import Merge
from stream_ldp.records.collection import JointCollection
from stream_ldp.service.merger import Merger
from stream_ldp.service.metrics import Metrics
from tests.service.harness import SURVEY

if TYPE_CHECKING:
    from stream_ldp.kafka.cluster import Cluster
    from stream_ldp.kafka.producer import Producer
    from stream_ldp.pipeline.answer import Answer
    from stream_ldp.pipeline.question import Question

SOLVE_SECONDS = 0.5


async def test_the_event_loop_keeps_running_while_an_estimate_is_solved(monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(collection: JointCollection, question: Question[Any, Any]) -> Answer:
        time.sleep(SOLVE_SECONDS)
        return solve(collection, question)

    monkeypatch.setattr("stream_ldp.service.merger.solve", slow)
    collection = JointCollection.parse(SURVEY.format(name="survey"))
    producer: Producer = None  # type: ignore[assignment]
    cluster: Cluster = None  # type: ignore[assignment]
    merger = Merger(
        [collection],
        settings=Settings.load(),
        report_partitions={"survey": 1},
        producer=producer,
        cluster=cluster,
        metrics=Metrics(["survey"]),
    )
    question = Merge(collection, partitions=1).question(0, collection.estimates[0], final=True)
    solving = asyncio.create_task(merger._solve(collection, question))
    turns = 0
    while not solving.done():
        await asyncio.sleep(SOLVE_SECONDS / 20)
        turns += 1
    # On the loop, the solve would leave no more than the turn that began it; on a thread, twenty fit beside it.
    assert turns > 5
    assert (await solving).reports == 0
