"""Tests of reading on past what aiokafka cannot read, with a consumer in memory."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from aiokafka import TopicPartition
from aiokafka.errors import (
    ConsumerStoppedError,
    CorruptRecordException,
    NodeNotReadyError,
    TopicAuthorizationFailedError,
)

from stream_ldp.kafka.unreadable import UnreadableRecord, read_past
from tests.kafka.test_record_batch import RECORDS, batch

if TYPE_CHECKING:
    from collections.abc import Sequence

PARTITION = TopicPartition("care.reports", 0)


class MemoryConsumer:
    """A consumer of one partition, whose broker has some batches.

    aborted: producer and first offset of transactions, which the broker tells a consumer that leaves them out.
    """

    def __init__(
        self, data: bytes, *, code: int = 0, away: bool = False, aborted: Sequence[tuple[int, int]] | None = None
    ) -> None:
        self.sought: list[int] = []
        self._aborted = aborted
        self._isolation_level = "read_uncommitted" if aborted is None else "read_committed"
        self._client = self
        self.cluster = SimpleNamespace(leader_for_partition=lambda _: 1)
        self._data = data
        self._code = code
        self._away = away

    async def send(self, node: int, request: Any) -> Any:
        if self._away:
            raise NodeNotReadyError
        ((topic, ((partition, _, _),)),) = request.topics
        assert request._isolation_level == (self._aborted is not None)
        answer = (partition, self._code, 43, 43, 0, self._aborted, -1, self._data)
        return SimpleNamespace(topics=[(topic, [answer])], API_VERSION=11)

    def seek(self, partition: TopicPartition, offset: int) -> None:
        assert partition == PARTITION
        self.sought.append(offset)


def damaged() -> bytes:
    data = bytearray(batch(base=40))
    data[-1] ^= 1
    return bytes(data)


async def test_what_cannot_be_read_comes_with_the_fault_and_the_consumer_goes_on_behind_it() -> None:
    consumer = MemoryConsumer(damaged())
    fetched = await read_past(CorruptRecordException(), consumer, {PARTITION: 40})
    (record,) = fetched[PARTITION]
    assert isinstance(record, UnreadableRecord)
    assert record.fault == "offsets 40 to 42: the batch is damaged, its checksum does not match"
    assert (record.topic, record.partition, record.offset, record.value) == (*PARTITION, 42, None)
    assert consumer.sought == [43]


@pytest.mark.parametrize("error", [TopicAuthorizationFailedError("care.reports"), ConsumerStoppedError()])
async def test_an_error_that_is_about_no_record_is_raised_again(error: Exception) -> None:
    with pytest.raises(type(error)):
        await read_past(error, MemoryConsumer(damaged()), {PARTITION: 40})


async def test_an_error_is_raised_again_if_all_records_can_be_read() -> None:
    with pytest.raises(ZeroDivisionError):
        await read_past(ZeroDivisionError(), MemoryConsumer(batch(base=40)), {PARTITION: 40})


@pytest.mark.parametrize("fault", [{"away": True}, {"code": 6}])
async def test_a_broker_that_cannot_be_asked_now_is_asked_again_from_the_same_place(fault: dict[str, Any]) -> None:
    consumer = MemoryConsumer(damaged(), **fault)
    assert await read_past(CorruptRecordException(), consumer, {PARTITION: 40}) == {}
    assert consumer.sought == [40]


async def test_records_beside_the_unreadable_ones_are_as_any_consumer_gives_them() -> None:
    consumer = MemoryConsumer(batch(base=37) + damaged())
    records = (await read_past(CorruptRecordException(), consumer, {PARTITION: 37}))[PARTITION]
    assert [(each.key, each.value, list(each.headers)) for each in records[:3]] == list(RECORDS)
    assert [each.offset for each in records] == [37, 38, 39, 42]
    assert not any(isinstance(each, UnreadableRecord) for each in records[:3])


async def test_what_was_never_committed_is_left_out_for_a_consumer_that_leaves_it_out() -> None:
    data = batch(base=37, producer=7) + damaged()
    (record,) = (await read_past(CorruptRecordException(), MemoryConsumer(data, aborted=[(7, 37)]), {PARTITION: 37}))[
        PARTITION
    ]
    assert isinstance(record, UnreadableRecord)
    records = (await read_past(CorruptRecordException(), MemoryConsumer(data), {PARTITION: 37}))[PARTITION]
    assert [each.offset for each in records] == [37, 38, 39, 42]
