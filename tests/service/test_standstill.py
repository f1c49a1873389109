"""Tests that a merge which hears nothing of what workers have counted is told by their commits."""

from typing import Any, cast

import pytest
from aiokafka import TopicPartition
from aiokafka.errors import NodeNotReadyError

from stream_ldp.kafka.cluster import Cluster
from stream_ldp.kafka.settings import Settings
from stream_ldp.pipeline.merging import Merge
from stream_ldp.pipeline.source_checkpoint import Checkpoint
from stream_ldp.service.standstill import LATE_SECONDS, LOOK_SECONDS, TOGETHER, Standstill, look
from tests.pipeline.test_merging import watermark
from tests.service.mergers import SMALL, WIDE, ReportsTopics

#: Event time at which the first window has closed.
CLOSED_MS = SMALL.window.size_ms + SMALL.window.grace_ms


class Watched:
    """A standstill of a collection of some partitions, with a clock that moves from look to look."""

    def __init__(self, *, partitions: int = 2) -> None:
        self.seconds = 100.0
        self.merge = Merge(SMALL, partitions=partitions)
        self.cluster = ReportsTopics()
        self.settings = Settings.load()
        self.standstill = Standstill(self.merge, settings=self.settings, clock=lambda: self.seconds)

    async def commit(self, partition: int, watermark_ms: int | None) -> None:
        checkpoint = Checkpoint(generation=1, offset=0, position=0, watermark_ms=watermark_ms, watermark_generation=1)
        place = TopicPartition(self.settings.topic_names.reports(SMALL.name), partition)
        group = self.settings.group_names.ingest
        await self.cluster.commit(group, {place: (0, checkpoint.metadata())})

    async def after(self, seconds: float) -> list[str]:
        """Look now and then for so long, and return the problems then."""
        until = self.seconds + seconds
        while self.seconds < until:
            await look([self.standstill], cluster=cast("Cluster", self.cluster), settings=self.settings)
            self.seconds += LOOK_SECONDS
        return self.standstill.problems


@pytest.fixture
def watched() -> Watched:
    return Watched()


async def test_a_merge_that_lags_behind_partitions_is_a_problem(
    watched: Watched,
) -> None:
    for partition in range(2):
        await watched.commit(partition, CLOSED_MS)
    assert await watched.after(LATE_SECONDS / 2) == []
    (problem,) = await watched.after(LATE_SECONDS)
    assert problem.startswith(
        "small: all partitions have passed 1970-01-01T00:00:02+00:00, where a window ends, for "
    )
    assert "restart this worker" in problem
    for partition in range(2):
        watched.merge.apply(watermark(CLOSED_MS, partition=partition, collection=SMALL))
    assert await watched.after(LOOK_SECONDS) == []


async def test_a_window_that_one_partition_holds_open_is_no_problem(watched: Watched) -> None:
    await watched.commit(0, 10 * CLOSED_MS)
    assert await watched.after(2 * LATE_SECONDS) == []
    await watched.commit(1, None)
    assert await watched.after(2 * LATE_SECONDS) == []
    for partition in range(2):
        watched.merge.apply(watermark(CLOSED_MS - 500, partition=partition, collection=SMALL))
    await watched.commit(1, CLOSED_MS - 1)  # Later than what the merge has, but within the same window.
    assert await watched.after(2 * LATE_SECONDS) == []


async def test_a_merge_that_follows_is_asked_about_now_and_then_and_has_no_problem(watched: Watched) -> None:
    for partition in range(2):
        await watched.commit(partition, CLOSED_MS)
        watched.merge.apply(watermark(CLOSED_MS, partition=partition, collection=SMALL))
    assert await watched.after(2 * LATE_SECONDS) == []


class Refusing(ReportsTopics):
    """A cluster that says nothing of a topic."""

    def __init__(self, *, refused: str) -> None:
        super().__init__()
        self.refused = refused
        self.asked: list[int] = []

    async def commits(self, group: str, places: list[TopicPartition], **_: object) -> dict[TopicPartition, Any]:  # type: ignore[override]
        self.asked.append(len(places))
        if any(place.topic == self.refused for place in places):
            raise NodeNotReadyError
        return await super().commits(group, places)


async def test_many_collections_are_asked_about_together_and_none_hides_all_others() -> None:
    settings, clock = Settings.load(), iter(range(0, 10_000, 1_000))
    cluster = Refusing(refused=settings.topic_names.reports(WIDE.name))
    refused = [Standstill(Merge(WIDE, partitions=2), settings=settings) for _ in range(TOGETHER)]
    last = Standstill(Merge(SMALL, partitions=1), settings=settings, clock=lambda: next(clock))
    checkpoint = Checkpoint(generation=1, offset=0, position=0, watermark_ms=CLOSED_MS, watermark_generation=1)
    await cluster.commit(settings.group_names.ingest, {last.places[0]: (0, checkpoint.metadata())})
    await look([*refused, last], cluster=cast("Cluster", cluster), settings=settings)
    assert cluster.asked == [2 * TOGETHER, 1]
    assert len(last.problems) == 1
