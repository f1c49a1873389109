"""Tests of several logs that are read as one."""

import asyncio

import pytest

from stream_ldp.kafka.joined_logs import JoinedLogs
from stream_ldp.kafka.log import LogReader
from stream_ldp.kafka.memory import MemoryBroker, connected
from stream_ldp.kafka.settings import Settings

SETTINGS = Settings.load(brokers="nowhere:1")


def joined(*topics: str, follow: bool) -> JoinedLogs:
    return JoinedLogs([LogReader(each, settings=SETTINGS) for each in topics], follow=follow)


async def test_logs_that_are_not_followed_come_one_after_the_other_up_to_their_ends() -> None:
    broker = MemoryBroker(topics={"a", "b"}, now_ms=0)
    for topic, value in (("b", b"1"), ("a", b"2"), ("b", b"3")):
        broker.put(topic, value)
    with connected(broker):
        logs = joined("a", "b", follow=False)
        await logs.start()
        broker.put("a", b"later")
        records = [await logs.next() for _ in range(4)]
        await logs.stop()
    assert [None if each is None else (each.topic, each.value) for each in records] == [
        ("a", b"2"),
        ("b", b"1"),
        ("b", b"3"),
        None,
    ]


async def test_a_wait_that_ends_without_a_record_loses_none() -> None:
    broker = MemoryBroker(topics={"a", "b"}, now_ms=0)
    with connected(broker):
        logs = joined("a", "b", follow=True)
        await logs.start()
        assert await logs.next(seconds=0.01) is None
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(logs.next(), 0.01)
        broker.put("b", b"1")
        assert (await logs.next()).value == b"1"
        broker.put("a", b"2")
        broker.put("b", b"3")
        assert {(await logs.next()).value for _ in range(2)} == {b"2", b"3"}
        await logs.stop()
