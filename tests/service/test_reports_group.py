"""Tests of the group that collections share: each gets its own records, and nobody waits for a busy one."""

import asyncio
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka import TopicPartition
from aiokafka.errors import IllegalStateError, TopicAuthorizationFailedError
from hypothesis import given
from hypothesis import strategies as st

from stream_ldp.kafka.settings import Settings
from stream_ldp.service import reports_group
from stream_ldp.service.reports_group import Assignor, ReportsGroup

A, B = TopicPartition("a", 0), TopicPartition("b", 0)


class Consumer:
    """A consumer that gives what the test puts, and notes what it is asked for.

    coming: what the next fetches bring, in order; it waits when there is nothing.
    """

    def __init__(self) -> None:
        self.done: list[Any] = []
        self.assigned: set[TopicPartition] = set()
        self.coming: asyncio.Queue[dict[TopicPartition, list[Any]] | Exception] = asyncio.Queue()
        self.listener: Any = None
        self.subscribed: list[str] = []

    def subscribe(self, topics: list[str], *, listener: Any) -> None:
        self.done.append(topics)
        self.subscribed = topics
        self.listener = listener
        self.assigned = set()

    async def assign(self) -> None:
        self.assigned = {TopicPartition(topic, 0) for topic in self.subscribed}
        await self.listener.on_partitions_assigned(self.assigned)

    def look_every(self, milliseconds: int) -> None:
        pass

    async def start(self) -> None:
        self.done.append("start")

    async def stop(self) -> None:
        self.done.append("stop")

    def assignment(self) -> set[TopicPartition]:
        return self.assigned

    def seek(self, partition: TopicPartition, offset: int) -> None:
        self.done.append((partition, offset))

    async def getmany(self, *wanted: TopicPartition, timeout_ms: int, max_records: int) -> dict[Any, list[Any]]:
        self.done.append(sorted(each.topic for each in wanted) or "all")
        try:
            async with asyncio.timeout(timeout_ms / 1_000):
                found = await self.coming.get()
        except TimeoutError:
            return {}
        if isinstance(found, Exception):
            raise found
        return found


class Part:
    """A collection that notes what it is told."""

    def __init__(self) -> None:
        self.told: list[Any] = []

    async def on_partitions_revoked(self) -> None:
        self.told.append("revoked")

    async def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:
        self.told.append(list(assigned))


@pytest.fixture
def consumer(monkeypatch: pytest.MonkeyPatch) -> Consumer:
    found = Consumer()
    monkeypatch.setattr(reports_group, "ColumnConsumer", lambda **_: found)
    monkeypatch.setattr(reports_group, "TOGETHER_SECONDS", 0.0)
    return found


async def joined(consumer: Consumer, *topics: str) -> tuple[Any, list[Part]]:
    group, parts = ReportsGroup(Settings()), [Part() for _ in topics]
    for topic, part in zip(topics, parts, strict=True):
        await group.join(topic, part)
    await consumer.assign()
    return group, parts


async def test_each_collection_is_reported_of_its_own_partitions_and_the_last_one_disconnects(
    consumer: Consumer,
) -> None:
    group, (a, b) = await joined(consumer, "a", "b")
    assert consumer.done == [["a"], "start", ["a", "b"]]
    assert (a.told, b.told) == (["revoked", [A]], ["revoked", [B]]), "before anything is forgotten of what it had"
    assert group.assignment("a") == {A}
    await group.leave("a")
    assert (consumer.done[-1], a.told[-1], b.told[-1]) == (["b"], [A], "revoked")
    await group.leave("b")
    assert consumer.done[-1] == "stop"
    assert group.assignment("b") == set()
    with pytest.raises(IllegalStateError):
        group.seek(B, 1)


async def test_collections_that_begin_together_join_the_group_together(consumer: Consumer) -> None:
    group = ReportsGroup(Settings())
    await asyncio.gather(*(group.join(f"c{number}", Part()) for number in range(50)))
    assert len(consumer.done) <= 3
    assert [len(each) for each in consumer.done if each != "start"][-1] == 50


async def test_a_worker_that_ends_leaves_once_when_all_have_flushed(consumer: Consumer) -> None:
    group, (_, b) = await joined(consumer, "a", "b")
    before = list(consumer.done)
    group.close()
    await group.leave("a")
    assert (consumer.done, b.told[-1]) == (before, [B]), "the other still flushes"
    await group.leave("b")
    assert consumer.done == [*before, "stop"]


async def test_whoever_fetches_hands_out_what_comes_for_others(consumer: Consumer) -> None:
    group, _ = await joined(consumer, "a", "b")
    group._inboxes.clear()
    first = asyncio.create_task(group.fetch("a", timeout_ms=60_000, max_records=9))
    second = asyncio.create_task(group.fetch("b", timeout_ms=60_000, max_records=9))
    await asyncio.sleep(0)
    consumer.coming.put_nowait({B: [1, 2]})
    assert await asyncio.wait_for(second, 5) == {B: [1, 2]}
    assert not first.done()
    consumer.coming.put_nowait({A: [3]})
    assert await asyncio.wait_for(first, 5) == {A: [3]}


async def test_a_busy_collection_holds_nobody_up_and_is_fetched_for_once(consumer: Consumer) -> None:
    group, _ = await joined(consumer, "a", "b")
    group._inboxes.clear()
    consumer.coming.put_nowait({A: [1]})
    assert await group.fetch("b", timeout_ms=1, max_records=9) == {}
    consumer.coming.put_nowait({B: [2]})
    assert await group.fetch("b", timeout_ms=1_000, max_records=9) == {B: [2]}
    assert consumer.done[-1] == ["b"], "what has been fetched of the other has not been taken"
    assert await group.fetch("a", timeout_ms=1, max_records=9) == {A: [1]}


async def test_one_that_fetches_and_is_cancelled_is_followed_by_another(consumer: Consumer) -> None:
    group, _ = await joined(consumer, "a", "b")
    group._inboxes.clear()
    first = asyncio.create_task(group.fetch("a", timeout_ms=60_000, max_records=9))
    await asyncio.sleep(0)
    second = asyncio.create_task(group.fetch("b", timeout_ms=60_000, max_records=9))
    await asyncio.sleep(0)
    first.cancel()
    consumer.coming.put_nowait({B: [1]})
    assert await asyncio.wait_for(second, 5) == {B: [1]}


async def test_an_error_of_one_topic_is_raised_to_its_collection_alone(consumer: Consumer) -> None:
    group, _ = await joined(consumer, "a", "b")
    group._inboxes.clear()
    consumer.coming.put_nowait(TopicAuthorizationFailedError("a"))
    assert await group.fetch("b", timeout_ms=1, max_records=9) == {}
    with pytest.raises(TopicAuthorizationFailedError):
        await group.fetch("a", timeout_ms=1, max_records=9)
    consumer.coming.put_nowait({A: [1]})
    assert await group.fetch("a", timeout_ms=1, max_records=9) == {A: [1]}


async def test_what_was_fetched_before_a_seek_or_a_rebalance_is_never_handed_out(consumer: Consumer) -> None:
    """Behind a seek, records at a later offset would be taken for a gap of the log."""
    group, _ = await joined(consumer, "a", "b")
    for forget in (lambda: group.seek(A, 7), group.on_partitions_revoked):
        group._inboxes.clear()
        consumer.coming.put_nowait({A: [9]})
        assert await group.fetch("b", timeout_ms=1, max_records=9) == {}
        found = forget()
        if found is not None:
            await found
        assert await group.fetch("a", timeout_ms=1, max_records=9) == {}


async def test_a_collection_that_waits_long_looks_when_its_partitions_are_assigned(consumer: Consumer) -> None:
    group, _ = await joined(consumer, "a", "b")
    group._inboxes.clear()
    waiting = [asyncio.create_task(group.fetch(topic, timeout_ms=60_000, max_records=9)) for topic in ("a", "b")]
    await asyncio.sleep(0)
    await consumer.assign()
    for each in waiting:
        assert await asyncio.wait_for(each, 5) == {}


class Cluster:
    """Topics with their numbers of partitions."""

    def __init__(self, topics: dict[str, int]) -> None:
        self._topics = topics

    def partitions_for_topic(self, topic: str) -> set[int] | None:
        return set(range(self._topics[topic])) if topic in self._topics else None


def assigned(topics: dict[str, int], members: dict[str, set[str]]) -> dict[tuple[str, int], str]:
    """Return whose each partition is; none is given twice, or to one that does not subscribe to it."""
    found: dict[tuple[str, int], str] = {}
    described = {member: SimpleNamespace(subscription=sorted(of)) for member, of in members.items()}
    for member, assignment in Assignor.assign(Cluster(topics), described).items():
        for topic, partitions in assignment.assignment:
            assert topic in members[member]
            for partition in partitions:
                assert found.setdefault((topic, partition), member) == member
    return found


topics_of = st.dictionaries(st.sampled_from([f"t{n}" for n in range(8)]), st.integers(1, 8), min_size=1)


@given(topics_of, st.integers(1, 5))
def test_every_partition_has_one_member_and_each_topic_is_spread_evenly(topics: dict[str, int], members: int) -> None:
    found = assigned(topics, {f"m{number}": set(topics) for number in range(members)})
    assert found.keys() == {(topic, number) for topic, size in topics.items() for number in range(size)}
    for topic in topics:
        counts = [
            sum(each == (topic, n) and whose == f"m{m}" for (each, whose) in found.items() for n in range(8))
            for m in range(members)
        ]
        assert max(counts) - min(counts) <= 1


@given(topics_of, st.integers(1, 5))
def test_a_topic_that_comes_moves_no_partition_of_the_others(topics: dict[str, int], members: int) -> None:
    names = [f"m{number}" for number in range(members)]
    before = assigned(topics, {name: set(topics) for name in names})
    after = assigned({**topics, "new": 4}, {name: {*topics, "new"} for name in names})
    assert {place: whose for place, whose in after.items() if place[0] != "new"} == before


def test_members_that_count_different_collections_share_those_of_both() -> None:
    found = assigned({"a": 2, "b": 2}, {"one": {"a"}, "both": {"a", "b"}, "gone": {"deleted"}})
    assert {found[place] for place in (("a", 0), ("a", 1))} == {"one", "both"}
    assert {found[place] for place in (("b", 0), ("b", 1))} == {"both"}
