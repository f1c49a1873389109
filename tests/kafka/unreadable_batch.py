"""Append what no client should: headers with a name that is not UTF-8, offsets that no broker gave, and the like."""

from __future__ import annotations

import asyncio
import struct
from typing import TYPE_CHECKING

from aiokafka.errors import NotLeaderForPartitionError, for_code
from aiokafka.protocol.produce import ProduceRequest
from aiokafka.record.default_records import DefaultRecordBatchBuilder
from aiokafka.record.util import calc_crc32c

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from aiokafka import AIOKafkaProducer, TopicPartition


async def append(
    producer: AIOKafkaProducer,
    place: TopicPartition,
    values: Sequence[bytes],
    *,
    spoiled: Container[int] = (),
    offsets: Sequence[int] | None = None,
    attributes: int = 0,
    first_ms: int | None = None,
    largest_ms: int | None = None,
    producer_id: int = -1,
    producer_epoch: int = -1,
    sequence: int = -1,
) -> None:
    """Append one record batch.

    spoiled: numbers of the records that have a header whose name is not UTF-8.
    offsets: what the records say of theirs, relative to the first; consecutive by default.
    attributes: of the batch: its codec, and whether the broker has set the time, or it is of a transaction or a mark.
    first_ms, largest_ms: times of the batch, in milliseconds since 1970-01-01 UTC; now by default.
    producer_id, producer_epoch, sequence: of an idempotent producer; none by default.

    Raises:
        KafkaError: the broker has not taken it.
    """
    builder = DefaultRecordBatchBuilder(
        magic=2,
        compression_type=0,
        is_transactional=0,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=sequence,
        batch_size=2**20,
    )
    for number, value in enumerate(values):
        offset = number if offsets is None else offsets[number]
        builder.append(offset, None, b"", value, [("name", b"")] if number in spoiled else [])
    data = bytearray(bytes(builder.build()).replace(b"name", b"\xff\xfe\xfd\xfc"))
    data[21:27] = struct.pack(">Hi", attributes, len(values) - 1)
    for begin, time_ms in ((27, first_ms), (35, largest_ms)):
        if time_ms is not None:
            data[begin : begin + 8] = struct.pack(">q", time_ms)
    data[17:21] = calc_crc32c(bytes(data[21:])).to_bytes(4, "big")
    await producer.partitions_for(place.topic)
    leader = producer.client.cluster.leader_for_partition(place)
    request = ProduceRequest(None, -1, 5_000, [(place.topic, [(place.partition, bytes(data))])])
    code = NotLeaderForPartitionError.errno
    async with asyncio.timeout(30):
        # A broker that has just made a topic may not know yet that it leads it.
        while code == NotLeaderForPartitionError.errno:
            response = await producer.client.send(leader, request)
            code = response.topics[0][1][0][1]
    if code != 0:
        raise for_code(code)
