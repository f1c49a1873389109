"""Tests of what Faust's consumer makes of records that cannot be read; test_foreign_records.py has a real one."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka import ConsumerRecord, TopicPartition

from stream_ldp.kafka.unreadable import UnreadableRecord
from stream_ldp.service.faust_transport import WorkerTransport, _WorkerThread, fault_of

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


def message(record: ConsumerRecord) -> Any:
    transport: Any = WorkerTransport.Consumer
    consumer = transport.__new__(transport)
    consumer.app = SimpleNamespace(consumer_generation_id=1)
    return consumer._to_message(TopicPartition("partials", 0), record)


def test_a_message_says_why_its_record_cannot_be_read() -> None:
    assert fault_of(message(UnreadableRecord(**FIELDS, fault="damaged"))) == "damaged"
    assert fault_of(message(ConsumerRecord(**FIELDS))) is None


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
