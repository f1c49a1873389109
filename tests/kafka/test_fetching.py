"""Tests that consumers of aiokafka outlast whatever they fetch, with a broker in memory."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka import TopicPartition
from aiokafka.client import ConnectionGroup
from aiokafka.consumer import consumer as consumer_module
from aiokafka.consumer.subscription_state import SubscriptionState
from aiokafka.errors import KafkaConnectionError, KafkaError, RequestTimedOutError
from aiokafka.protocol.offset import OffsetRequest

from stream_ldp.kafka import fetching
from stream_ldp.kafka.decompression import turn_of
from stream_ldp.kafka.fetching import CannotParse, mend_aiokafka
from tests.kafka.test_record_batch import batch

mend_aiokafka()

FIRST, SECOND = (TopicPartition("care.reports", number) for number in range(2))
SECONDS = 5.0


class Broker:
    """A client of aiokafka, with a broker that has the batches of some partitions.

    logs: by partition, batches from offset 0 on, of three records each.
    spoil: changes a response.
    """

    def __init__(self, logs: dict[TopicPartition, list[bytes]]) -> None:
        self.logs = logs
        self.spoil: Callable[[Any], None] = lambda _: None
        self.fetches = 0
        self._loop = asyncio.get_running_loop()
        self._metadata_max_age_ms = 300_000
        self.cluster = SimpleNamespace(leader_for_partition=lambda _: 1)

    def force_metadata_update(self) -> asyncio.Future[None]:
        return self._loop.create_future()

    async def send(self, node: int, request: Any) -> Any:
        self.fetches += 1
        await asyncio.sleep(0.001)
        topics = []
        for topic, partitions in request.topics:
            answers = []
            for number, position, _ in partitions:
                batches = self.logs[TopicPartition(topic, number)]
                data = b"".join(batches[position // 3 :])
                answers.append((number, 0, 3 * len(batches), 3 * len(batches), 0, None, -1, data))
            topics.append((topic, answers))
        response = SimpleNamespace(topics=topics, API_VERSION=11)
        self.spoil(response)
        return response


@pytest.fixture
async def broker() -> Broker:
    return Broker({FIRST: [batch(base=3 * number) for number in range(4)], SECOND: [batch(base=0)]})


@pytest.fixture
async def fetcher(broker: Broker) -> AsyncIterator[Any]:
    subscription = SubscriptionState()
    subscription.assign_from_user({FIRST, SECOND})
    for partition in (FIRST, SECOND):
        subscription.seek(partition, 0)
    fetcher = consumer_module.Fetcher(
        broker, subscription, fetcher_timeout=0.01, prefetch_backoff=0.001, retry_backoff_ms=1
    )
    yield fetcher
    await fetcher.close()


async def drain(fetcher: Any, *, most: int | None = None, turn: int = 2**20) -> list[tuple[int, int]]:
    """Take partition and offset of everything that comes, until all has been read."""
    found: list[tuple[int, int]] = []
    async with asyncio.timeout(SECONDS):
        while len(found) < 15:
            with turn_of(turn):
                drained = await fetcher.fetched_records([], 0.05, most)
            found += [(each.partition, each.offset) for records in drained.values() for each in records]
    return found


WHOLE = {(0, offset) for offset in range(12)} | {(1, offset) for offset in range(3)}


@pytest.mark.parametrize("most", [None, 1, 2, 3, 100])
async def test_every_record_comes_once_and_in_order_however_many_are_taken_at_a_time(
    fetcher: Any, most: int | None
) -> None:
    found = await drain(fetcher, most=most)
    assert set(found) == WHOLE
    assert [offset for number, offset in found if number == 0] == list(range(12))


async def test_a_turn_ends_where_its_batches_have_expanded_far_enough(broker: Broker, fetcher: Any) -> None:
    broker.logs[FIRST] = [batch(codec="zstd", base=3 * number) for number in range(4)]
    with turn_of(600):  # A batch expands to some 540 bytes.
        drained = await fetcher.fetched_records([FIRST], 1.0)
    assert [each.offset for each in drained[FIRST]] == [0, 1, 2, 3, 4, 5]
    fetches = broker.fetches
    assert {offset for number, offset in await drain_rest(fetcher, 9)} == {0, 1, 2, 6, 7, 8, 9, 10, 11}
    assert broker.fetches <= fetches + 2, "what is left of a fetch is not fetched again"


async def drain_rest(fetcher: Any, count: int) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    async with asyncio.timeout(SECONDS):
        while len(found) < count:
            with turn_of(600):
                drained = await fetcher.fetched_records([], 0.05, None)
            found += [(each.partition, each.offset) for records in drained.values() for each in records]
    return found


async def test_a_partition_of_batches_that_expand_far_does_not_keep_the_others_waiting(
    broker: Broker, fetcher: Any
) -> None:
    broker.logs[FIRST] = [batch(codec="zstd", base=3 * number) for number in range(400)]
    turns: list[dict[TopicPartition, list[Any]]] = []
    async with asyncio.timeout(SECONDS):
        while not turns or SECOND not in turns[-1]:
            with turn_of(600):
                turns.append(await fetcher.fetched_records([], 1.0, 100))
    assert len(turns) <= 3


async def test_what_cannot_be_parsed_is_an_error_of_its_partition_after_all_that_can(
    broker: Broker, fetcher: Any
) -> None:
    spoiled = bytearray(broker.logs[FIRST][2])
    spoiled[-1] ^= 1
    broker.logs[FIRST][2] = bytes(spoiled)
    found: set[tuple[int, int]] = set()
    assert await until_it_fails(fetcher, found) == FIRST
    assert found >= {(0, offset) for offset in range(6)}
    # Where the error is not handled, it comes again; the other partition has lost nothing.
    assert await until_it_fails(fetcher, found) == FIRST
    assert found == {(0, offset) for offset in range(6)} | {(1, offset) for offset in range(3)}


async def until_it_fails(fetcher: Any, found: set[tuple[int, int]]) -> TopicPartition:
    """Add what comes, by partition and offset, and return the partition that cannot be parsed any more."""
    async with asyncio.timeout(SECONDS):
        while True:
            try:
                drained = await fetcher.fetched_records([], 0.05, 4)
            except CannotParse as error:
                return error.partition
            found |= {(each.partition, each.offset) for records in drained.values() for each in records}


async def test_records_that_are_read_one_by_one_end_with_the_same_error(broker: Broker, fetcher: Any) -> None:
    broker.logs[FIRST][1] = broker.logs[FIRST][1][:-1] + b"\xff"
    offsets = [(await fetcher.next_record([FIRST])).offset for _ in range(3)]
    assert offsets == [0, 1, 2]
    with pytest.raises(CannotParse):
        await asyncio.wait_for(fetcher.next_record([FIRST]), SECONDS)


def too_long(response: Any) -> None:
    """Say that the first batch is longer than all that has come."""
    for _, answers in response.topics:
        for place, answer in enumerate(answers):
            answers[place] = (*answer[:-1], answer[-1][:8] + (2**30).to_bytes(4, "big") + answer[-1][12:])


def of_others(response: Any) -> None:
    """Name a partition that nobody has asked for."""
    for _, answers in response.topics:
        answers[0] = (77, *answers[0][1:])


@pytest.mark.parametrize("spoil", [too_long, of_others])
async def test_a_response_that_makes_no_sense_is_asked_for_again(
    broker: Broker, fetcher: Any, spoil: Callable[[Any], None]
) -> None:
    broker.spoil = lambda response: spoil(response) if broker.fetches <= 3 else None
    assert set(await drain(fetcher)) == WHOLE
    assert broker.fetches > 3


async def test_a_fetcher_is_closed_in_the_pause_after_an_exchange_that_failed(broker: Broker, fetcher: Any) -> None:
    """The error of `close` would hide what else has failed, such as reports that are lost in the same outage."""

    def fail(_: Any) -> None:
        raise KafkaConnectionError

    broker.spoil, fetcher._retry_backoff = fail, 60.0
    while not broker.fetches:
        await asyncio.sleep(0)
    await asyncio.sleep(0.01)
    await asyncio.wait_for(fetcher.close(), SECONDS)


@pytest.mark.parametrize("turns", range(3))
async def test_a_fetcher_that_is_closed_as_it_loses_its_partitions_ends(
    broker: Broker, fetcher: Any, turns: int
) -> None:
    """In one of these turns of the loop it waits for the end of an exchange that it has cancelled itself."""
    while not broker.fetches:
        await asyncio.sleep(0)
    fetcher._subscriptions.unsubscribe()
    for _ in range(turns):
        await asyncio.sleep(0)
    ended, _ = await asyncio.wait([asyncio.ensure_future(fetcher.close())], timeout=SECONDS)
    assert ended


async def test_a_reader_whose_fetches_have_ended_hears_of_it(fetcher: Any) -> None:
    await drain(fetcher)
    fetcher._fetch_task.cancel()
    await asyncio.wait([fetcher._fetch_task])
    with pytest.raises(KafkaError, match="what fetches records was cancelled"):
        await fetcher.fetched_records((), timeout=SECONDS)


async def test_a_partition_that_cannot_be_parsed_waits_for_no_backlog_of_another(
    broker: Broker, fetcher: Any
) -> None:
    broker.logs[FIRST][0] = broker.logs[FIRST][0][:-1] + b"\xff"
    broker.logs[SECOND] = [batch(base=3 * number) for number in range(2_000)]
    found: set[tuple[int, int]] = set()
    assert await until_it_fails(fetcher, found) == FIRST
    assert len(found) <= 12, "of thousands"


@pytest.mark.parametrize("behind", [False, True])
async def test_what_comes_gathers_at_the_broker_unless_a_partition_is_behind(
    broker: Broker, fetcher: Any, monkeypatch: pytest.MonkeyPatch, behind: bool
) -> None:
    """Asked again at once, a broker under an even load gives nearly every record by itself."""
    monkeypatch.setattr(fetching, "_BEHIND_BYTES", 1 if behind else 2**19)
    fetcher.wanted_at, fetcher.period = time.monotonic() + 3_600, 3_600
    assert set(await drain(fetcher)) == WHOLE
    asked = broker.fetches
    broker.logs[SECOND].append(batch(base=3))
    if not behind:
        assert await fetcher.fetched_records([], 0.05) == {}
        assert broker.fetches == asked
        return
    async with asyncio.timeout(SECONDS):
        while not (found := await fetcher.fetched_records([], 0.05)):
            pass
    assert [record.offset for record in found[SECOND]] == [3, 4, 5]


async def test_what_gathers_is_fetched_within_a_period_however_long_ago_it_was_wanted(
    broker: Broker, fetcher: Any
) -> None:
    """A flush that has waited for brokers through an outage says nothing meanwhile of when it wants more."""
    fetcher.wanted_at, fetcher.period = time.monotonic() - 3_600.01, 0.02
    assert set(await drain(fetcher)) == WHOLE
    broker.logs[SECOND].append(batch(base=3))
    async with asyncio.timeout(SECONDS):
        while not (found := await fetcher.fetched_records([], 0.05)):
            pass
    assert [record.offset for record in found[SECOND]] == [3, 4, 5]


async def test_brokers_wait_the_longer_the_more_partitions_there_are_and_hardly_after_a_seek(
    broker: Broker, fetcher: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fetch that is under way knows nothing of the new place; and each one names all partitions."""
    waits: list[int] = []
    send = broker.send

    async def noting(node: int, request: Any) -> Any:
        waits.append(request._max_wait_ms)
        return await send(node, request)

    monkeypatch.setattr(broker, "send", noting)
    monkeypatch.setattr(fetching, "_PARTITION_MS", 400)
    assert set(await drain(fetcher)) == WHOLE
    await fetcher.fetched_records([], 0.05)
    assert set(waits) == {500}, "the wait of aiokafka"
    fetcher.hurry()
    waits.clear()
    async with asyncio.timeout(SECONDS):
        while len(waits) < 7:
            await fetcher.fetched_records([], 0.01)
    assert waits[-7:] == sorted(waits[-7:])
    # A fetch that was under way may come back empty before the first that hurries, and has doubled the wait.
    assert {100, 200, 400, 800} <= set(waits) <= {50, 100, 200, 400, 500, 800}
    assert max(waits) == 800, "two partitions"


async def test_offsets_do_not_wait_behind_a_fetch_that_waits_for_records(
    broker: Broker, fetcher: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broker answers the requests of a connection in order, so offsets have one of their own."""
    groups: list[ConnectionGroup] = []

    async def send(node: int, request: Any, *, group: ConnectionGroup = ConnectionGroup.DEFAULT) -> Any:
        groups.append(group)
        return SimpleNamespace(topics=[])

    monkeypatch.setattr(broker, "send", send)
    fetcher.ask_offsets_aside()
    await fetcher._proc_offset_request(1, {FIRST.topic: [(0, -1)]})
    await fetcher._client.send(1, "a request for records")
    assert [group for group in groups if group is not ConnectionGroup.DEFAULT] == [ConnectionGroup.COORDINATION]


async def test_a_member_leaves_its_group_although_nobody_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    async def silent(_: object) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(fetching, "LEAVE_SECONDS", 0.01)
    member = consumer_module.GroupCoordinator.__new__(consumer_module.GroupCoordinator)
    member.group_id, member.member_id, member.generation, member._group_instance_id = "workers", "a", 3, None
    member._send_req, member.request_rejoin = silent, lambda: None
    await asyncio.wait_for(member._maybe_leave_group(), SECONDS)
    assert member.generation == -1


async def test_a_connection_that_gives_no_answer_about_offsets_is_closed(
    broker: Broker, fetcher: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A firewall that has forgotten it would else hold up each read of rounds, and of the registry, for ever."""

    class Connection:
        is_open = True

        def close(self, *, reason: object) -> None:
            self.is_open = False

    async def send(*_: object, **__: object) -> Any:
        await asyncio.Event().wait()

    connection = Connection()
    monkeypatch.setattr(fetching, "OFFSETS_SECONDS", 0.01)
    monkeypatch.setattr(broker, "send", send)
    monkeypatch.setattr(broker, "_conns", {(1, ConnectionGroup.COORDINATION): connection}, raising=False)
    fetcher.ask_offsets_aside()
    with pytest.raises(RequestTimedOutError):
        await asyncio.wait_for(fetcher._client.send(1, OffsetRequest(-1, 0, [])), SECONDS)
    assert not connection.is_open
