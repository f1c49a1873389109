"""Read past records that aiokafka fails to parse, at which it would stop for good.

The batches from the place of the failure on are fetched twice more, over two connections. Bytes that are the same
over both are what the log has. They are parsed record by record: a record that cannot be read becomes an
`UnreadableRecord` with its reason, and all other records come as always. What comes in two ways was damaged on its
way, and is fetched again.
"""

import asyncio
import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, takewhile
from typing import Any

from aiokafka import TopicPartition
from aiokafka.errors import LeaderNotAvailableError, for_code
from aiokafka.protocol.fetch import FetchRequest
from aiokafka.structs import ConsumerRecord

from stream_ldp.kafka.decompression import turn_of, turn_under_way
from stream_ldp.kafka.fetching import CannotParse
from stream_ldp.kafka.record_batch import StoredRecord, parse, split

log = logging.getLogger(__name__)

#: Bytes of a fetch, as much as aiokafka asks for: what it failed at is among them.
FETCH_BYTES = 2**20

#: Longest wait of the broker, in milliseconds; there are records, or nothing would have failed.
WAIT_MS = 500

#: Groups of the two connections among those of aiokafka's client, which uses 0 and 1 itself.
CONNECTIONS = (2, 3)

#: Seconds to wait before what was damaged on its way is fetched again.
AGAIN_SECONDS = 0.1


@dataclass
class UnreadableRecord(ConsumerRecord):  # type: ignore[misc]
    """A record that cannot be read; its key and value are those that could be, or None.

    fault: why it cannot be read.
    """

    fault: str = ""


def fault_of(record: ConsumerRecord) -> str | None:
    """Return why a record cannot be read; None if it can."""
    return getattr(record, "fault", None)


def faults_of(records: Sequence[ConsumerRecord]) -> dict[int, str]:
    """Return why records cannot be read, by their index; those that can are left out."""
    if UnreadableRecord not in set(map(type, records)):
        return {}
    return {index: fault for index, record in enumerate(records) if (fault := fault_of(record)) is not None}


@dataclass(frozen=True, kw_only=True, slots=True)
class _Fetched:
    """The batches of a partition from a place on.

    end: offset behind the last record of the log.
    aborted: producer and first offset of each transaction that was aborted.
    """

    end: int
    batches: Sequence[bytes]
    aborted: Sequence[tuple[int, int]]


async def read_past(failure: CannotParse, consumer: Any) -> Iterator[ConsumerRecord]:
    """Read what a consumer cannot parse, from its position on.

    Returns:
        The next records of the partition that the error names, as long as the turn lasts in which each is asked for,
        and parsed then: a batch may have hundreds of thousands. None if the broker cannot be asked now, or if
        something is damaged on its way; the consumer has to try again.
    """
    partition = failure.partition
    try:
        position = await consumer.position(partition)
        first, second = await asyncio.gather(
            *(_fetch(consumer, partition, position, connection=each) for each in CONNECTIONS)
        )
    except Exception as error:  # noqa: BLE001  what a damaged response leads to is not known
        # Or no broker answers, or the partition has gone to another member.
        log.debug("%s partition %d cannot be fetched again: %s", *partition, type(error).__name__)
        await asyncio.sleep(AGAIN_SECONDS)
        return iter(())
    again = frozenset(second.batches)
    on_log = takewhile(again.__contains__, first.batches)
    stored = parse(on_log, start=position, end=first.end, aborted=first.aborted)
    # The failure has taken from the turn already, and something has to be read.
    with turn_of(turn_under_way().most):
        # On a thread, since the records of the batch that have been given before are parsed and left out.
        found = await asyncio.to_thread(next, stored, None)
    if found is None:
        await asyncio.sleep(AGAIN_SECONDS)
        return iter(())
    return (_record(partition, each) for each in chain([found], stored))


async def _fetch(consumer: Any, partition: TopicPartition, position: int, *, connection: int) -> _Fetched:
    client = consumer._client
    leader = client.cluster.leader_for_partition(partition)
    if leader in (None, -1):
        raise LeaderNotAvailableError
    # As soon as there is one byte, and of transactions what the consumer itself would give.
    wanted = [(partition.topic, [(partition.partition, position, FETCH_BYTES)])]
    committed = consumer._isolation_level == "read_committed"
    request = FetchRequest(WAIT_MS, 1, FETCH_BYTES, int(committed), wanted)
    response = await client.send(leader, request, group=connection)
    ((_, ((_, code, end, *others, data),)),) = response.topics
    # Since version 11, the replica to read from stands between them and the data.
    aborted = others[-2 if response.API_VERSION >= 11 else -1]
    if code != 0:
        raise for_code(code)
    return _Fetched(end=end, batches=split(bytes(data or b"")), aborted=aborted or ())


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
