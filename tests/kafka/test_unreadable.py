"""Tests of reading past what aiokafka cannot parse, with a consumer in memory."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka import TopicPartition
from aiokafka.errors import IllegalStateError, NodeNotReadyError

from stream_ldp.kafka import unreadable
from stream_ldp.kafka.decompression import turn_of
from stream_ldp.kafka.fetching import CannotParse
from stream_ldp.kafka.unreadable import UnreadableRecord, read_past
from tests.kafka.test_record_batch import RECORDS, batch

PARTITION = TopicPartition("care.reports", 0)


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unreadable, "AGAIN_SECONDS", 0.0)


class MemoryConsumer:
    """A consumer of one partition, whose broker has some batches.

    data: what comes over each of the connections, in the order of their first use, and over the last of them.
    aborted: producer and first offset of transactions, which the broker names to a consumer that leaves them out.
    """

    def __init__(
        self,
        *data: bytes,
        position: int = 40,
        code: int = 0,
        away: bool = False,
        gone: bool = False,
        senseless: bool = False,
        aborted: Sequence[tuple[int, int]] | None = None,
    ) -> None:
        self.connections: list[int] = []
        self._aborted = aborted
        self._isolation_level = "read_uncommitted" if aborted is None else "read_committed"
        self._client = self
        self.cluster = SimpleNamespace(leader_for_partition=lambda _: 1)
        self._data = data
        self._position = position
        self._code = code
        self._away = away
        self._gone = gone
        self._senseless = senseless

    async def position(self, partition: TopicPartition) -> int:
        assert partition == PARTITION
        if self._gone:
            raise IllegalStateError
        return self._position

    async def send(self, node: int, request: Any, *, group: int) -> Any:
        if self._away:
            raise NodeNotReadyError
        data = self._data[min(len(self.connections), len(self._data) - 1)]
        self.connections.append(group)
        ((topic, ((partition, _, _),)),) = request.topics
        assert request._isolation_level == (self._aborted is not None)
        answer = (partition, self._code, 43, 43, 0, self._aborted, -1, data)
        return SimpleNamespace(topics=[] if self._senseless else [(topic, [answer])], API_VERSION=11)


def damaged(place: int = -1) -> bytes:
    data = bytearray(batch(base=40))
    data[place] ^= 1
    return bytes(data)


async def past(consumer: MemoryConsumer) -> list[Any]:
    return list(await read_past(CannotParse(PARTITION), consumer))


async def test_what_cannot_be_read_comes_with_the_fault() -> None:
    consumer = MemoryConsumer(damaged())
    (record,) = await past(consumer)
    assert isinstance(record, UnreadableRecord)
    assert record.fault == "offsets 40 to 42: the batch is damaged, its checksum does not match"
    assert (record.topic, record.partition, record.offset, record.value) == (*PARTITION, 42, None)


async def test_damage_on_the_way_is_not_taken_for_damage_on_the_log() -> None:
    sound, other = batch(base=40), batch(base=43)
    for arrived in ([damaged(), sound], [sound, damaged()], [damaged(), damaged(place=-2)]):
        consumer = MemoryConsumer(*arrived)
        assert await past(consumer) == []
        assert len(set(consumer.connections)) == 2
    # What came alike over both connections before it is good.
    records = await past(MemoryConsumer(sound + other, sound + other[:-1] + b"\x01"))
    assert [each.offset for each in records] == [40, 41, 42]


async def test_records_that_were_damaged_on_their_way_alone_are_read_as_they_are_on_the_log() -> None:
    assert [each.offset for each in await past(MemoryConsumer(batch(base=40)))] == [40, 41, 42]


@pytest.mark.parametrize("fault", [{"away": True}, {"code": 6}, {"gone": True}, {"senseless": True}])
async def test_a_broker_that_cannot_be_asked_now_is_asked_again_later(fault: dict[str, Any]) -> None:
    assert await past(MemoryConsumer(damaged(), **fault)) == []


async def test_records_beside_the_unreadable_ones_are_as_any_consumer_gives_them() -> None:
    records = await past(MemoryConsumer(batch(base=37) + damaged(), position=37))
    assert [(each.key, each.value, list(each.headers)) for each in records[:3]] == list(RECORDS)
    assert [each.offset for each in records] == [37, 38, 39, 42]
    assert not any(isinstance(each, UnreadableRecord) for each in records[:3])


async def test_what_was_never_committed_is_left_out_for_a_consumer_that_leaves_it_out() -> None:
    data = batch(base=37, producer=7) + damaged()
    (record,) = await past(MemoryConsumer(data, position=37, aborted=[(7, 37)]))
    assert isinstance(record, UnreadableRecord)
    assert [each.offset for each in await past(MemoryConsumer(data, position=37))] == [37, 38, 39, 42]


async def test_a_turn_reads_past_no_more_batches_than_it_has_room_for() -> None:
    zeros: Any = [(None, bytes(600), [])]
    data = b"".join(batch(codec="zstd", base=base, records=zeros) for base in range(40, 50))
    with turn_of(1_000):
        records = await past(MemoryConsumer(data))
    # The first, for which the failure left no room, and as many as a turn has room for.
    assert [each.offset for each in records] == [40, 41, 42]
    # Of batches that expand too far, each counts as one that has filled the turn.
    bombs = b"".join(batch(codec="zstd", base=base, records=[(None, bytes(2_000), [])]) for base in range(40, 50))
    with turn_of(1_000):
        records = await past(MemoryConsumer(bombs))
    assert [each.offset for each in records] == [40, 41]
    assert all("the batch is compressed, and it expands to more than" in each.fault for each in records)
