"""Tests of what Faust's consumer makes of records; test_foreign_records.py has some that cannot be read."""

import threading
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka import ConsumerRecord, TopicPartition
from faust.transport.drivers.aiokafka import AIOKafkaConsumerThread

from stream_ldp.kafka.unreadable import UnreadableRecord, fault_of
from stream_ldp.service.faust_transport import WorkerTransport, _Thread, _WorkerThread, records_of

FIELDS: dict[str, Any] = {
    "topic": "partials",
    "partition": 0,
    "offset": 7,
    "timestamp": 0,
    "timestamp_type": None,
    "key": b"key",
    "value": None,
    "checksum": None,
    "serialized_key_size": 3,
    "serialized_value_size": -1,
    "headers": (),
}


async def test_records_that_a_fetch_brings_are_one_message_for_each_partition(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first, second = (TopicPartition("partials", number) for number in range(2))
    readable = [ConsumerRecord(**FIELDS | {"offset": offset}) for offset in (5, 6)]
    found = {
        first: [*readable, UnreadableRecord(**FIELDS, fault="damaged")],
        second: [ConsumerRecord(**FIELDS | {"partition": 1})],
    }

    async def fetched(*_: object) -> Any:
        return found

    monkeypatch.setattr(AIOKafkaConsumerThread, "_fetch_records", fetched)
    transport: Any = WorkerTransport.Consumer
    consumer = transport.__new__(transport)
    consumer.app = SimpleNamespace(consumer_generation_id=1)
    thread = _Thread.__new__(_Thread)
    fetch = await thread._fetch_records(None, {first, second})
    messages = {place: [consumer._to_message(place, each) for each in records] for place, records in fetch.items()}
    assert {place: [each.offset for each in them] for place, them in messages.items()} == {first: [7], second: [7]}
    records = records_of(messages[first][0])
    assert [(each.offset, fault_of(each)) for each in records] == [(5, None), (6, None), (7, "damaged")]


def test_a_stop_does_not_wait_for_a_thread_that_waits_for_the_loop_of_the_stop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("stream_ldp.service.faust_transport.THREAD_SECONDS", 0.01)
    turning = threading.Event()
    thread = _WorkerThread(SimpleNamespace(_start_thread=turning.wait))
    thread.start()
    thread.stop()
    assert thread.is_alive()
    assert thread.daemon, "or the process would wait for it"
    turning.set()
    thread.join(10)
    assert not thread.is_alive()
