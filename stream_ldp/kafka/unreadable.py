"""This module reads on where aiokafka cannot: past records that it fails to parse, which it would raise for ever.

The batches from the place of the failure on are fetched once more, by a request of its own, and parsed record by
record. What cannot be read comes as an `UnreadableRecord`, which says why; all other records come as always.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from aiokafka.errors import (
    ConsumerStoppedError,
    CorruptRecordException,
    IllegalStateError,
    KafkaError,
    LeaderNotAvailableError,
    UnsupportedCodecError,
    for_code,
)
from aiokafka.protocol.fetch import FetchRequest
from aiokafka.structs import ConsumerRecord

from stream_ldp.kafka.decompression import limit_aiokafka
from stream_ldp.kafka.record_batch import parse

if TYPE_CHECKING:
    from collections.abc import Mapping

    from aiokafka import TopicPartition

    from stream_ldp.kafka.record_batch import StoredRecord

__all__ = ["UnreadableRecord", "read_past"]

# Whoever reads on past what cannot be read comes by here first.
limit_aiokafka()

#: Errors of a fetch that are about a record; so is every other error but those of Kafka and of a stopped consumer,
#: since each codec raises what it likes.
_ABOUT_A_RECORD = (CorruptRecordException, UnsupportedCodecError)

#: Bytes of a fetch, as much as aiokafka asks for: what it failed at is among them.
FETCH_BYTES = 2**20

#: Longest wait of the broker, in milliseconds; there are records, or nothing would have failed.
WAIT_MS = 500


@dataclass
class UnreadableRecord(ConsumerRecord):  # type: ignore[misc]
    """A record that cannot be read; its key and value are those that could be, or None.

    fault: why it cannot be read.
    """

    fault: str = ""


async def read_past(
    error: Exception, consumer: Any, positions: Mapping[TopicPartition, int]
) -> dict[TopicPartition, list[ConsumerRecord]]:
    """Read what made a consumer's fetch fail, and let the consumer go on behind it.

    error: what the fetch raised.
    positions: of each partition, the offset of the record that the consumer has to give next. All are read, since
        the error does not say which partition it is about, and the fetch may have dropped records of others.

    Returns:
        The next records of each partition; none if the broker cannot be asked now, and the consumer tries again.

    Raises:
        error: it is no failure to read a record, or all records can be read.
    """
    if isinstance(error, KafkaError | ConsumerStoppedError) and not isinstance(error, _ABOUT_A_RECORD):
        raise error
    try:
        fetched = {partition: await _fetch(consumer, partition, place) for partition, place in positions.items()}
    except KafkaError:
        fetched = {}
    for partition, position in positions.items():
        records = fetched.get(partition)
        with contextlib.suppress(IllegalStateError):  # It has gone to another member.
            consumer.seek(partition, records[-1].offset + 1 if records else position)
    if fetched and not any(isinstance(each, UnreadableRecord) for records in fetched.values() for each in records):
        raise error
    return {partition: records for partition, records in fetched.items() if records}


async def _fetch(consumer: Any, partition: TopicPartition, position: int) -> list[ConsumerRecord]:
    client = consumer._client
    leader = client.cluster.leader_for_partition(partition)
    if leader in (None, -1):
        raise LeaderNotAvailableError
    # As soon as there is one byte, and of transactions what the consumer itself would give.
    wanted = [(partition.topic, [(partition.partition, position, FETCH_BYTES)])]
    committed = consumer._isolation_level == "read_committed"
    response = await client.send(leader, FetchRequest(WAIT_MS, 1, FETCH_BYTES, int(committed), wanted))
    ((_, ((_, code, end, *others, data),)),) = response.topics
    # Since version 11, the replica to read from stands between them and the data.
    aborted = others[-2 if response.API_VERSION >= 11 else -1]
    if code != 0:
        raise for_code(code)
    found = parse(bytes(data or b""), start=position, end=end, aborted=aborted or ())
    return [_record(partition, each) for each in found]


def _record(partition: TopicPartition, stored: StoredRecord) -> ConsumerRecord:
    fields = {
        "topic": partition.topic,
        "partition": partition.partition,
        "offset": stored.offset,
        "timestamp": stored.timestamp_ms,
        "timestamp_type": None,
        "key": stored.key,
        "value": stored.value,
        "checksum": None,
        "serialized_key_size": -1 if stored.key is None else len(stored.key),
        "serialized_value_size": -1 if stored.value is None else len(stored.value),
        "headers": stored.headers,
    }
    if stored.fault is None:
        return ConsumerRecord(**fields)
    return UnreadableRecord(**fields, fault=stored.fault)
