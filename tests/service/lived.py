"""Write the log of a collection that has lived for a window and a half."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.structs import OffsetAndMetadata

from stream_ldp.kafka.cluster import Cluster
from stream_ldp.kafka.producer import Producer, Record
from stream_ldp.kafka.registry import Registration, register
from stream_ldp.kafka.settings import Settings
from stream_ldp.kafka.topics import topic_specs
from stream_ldp.kinds import solve
from stream_ldp.pipeline import partials, wire
from stream_ldp.pipeline.rejection import Reason, Rejected
from stream_ldp.pipeline.source_checkpoint import Checkpoint
from stream_ldp.pipeline.window_task import WindowTask
from stream_ldp.records.collection import JointCollection
from stream_ldp.service.dead_letters import Refused, dead_letter
from tests.pipeline.test_merging import partial, watermark

#: The partition that has reports.
PARTITION = 1
#: Records that are not counted yet.
BEHIND = 3


@dataclass(frozen=True, kw_only=True)
class Lived:
    """What has been written.

    start_ms: start of the window that has a final answer, of 5 reports; the next one is open, with 2 so far.
    """

    start_ms: int
    partitions: dict[str, int]


async def live(settings: Settings, collection: JointCollection, *, now_ms: int) -> Lived:
    """Create the topics of a collection, and write what clients and workers do, up to a time in its second window."""
    names, window = settings.topic_names, collection.window
    specs = topic_specs([collection], prefix=names.prefix, partials_partitions=settings.partials_partitions)
    async with Cluster.connect(settings) as cluster:
        await cluster.create(specs, replication=1)
    await register(settings, [Registration.of(collection)])
    start_ms = now_ms - now_ms % window.size_ms - window.size_ms
    second_ms = start_ms + window.size_ms
    series = collection.estimates[0]
    reports = names.reports(collection.name)
    first = partial(5, collection=collection, spec=series, partition=PARTITION, pane_ms=start_ms)
    counted: list[partials.Partial | partials.Watermark] = [
        first,
        partial(2, collection=collection, spec=series, partition=PARTITION, pane_ms=second_ms),
        *(watermark(second_ms + window.grace_ms, partition=each, collection=collection) for each in range(4)),
    ]
    task: WindowTask[Any, Any] = WindowTask(
        series=series,
        window_ms=start_ms,
        final=True,
        windows=((1.0, (first.counts,)),),
        before=None,
    )
    final = solve(collection, task)
    refused = Refused(topic=reports, partition=PARTITION, offset=1, value=b"not a batch, and a secret")
    place = partials.partition_of(collection.name, partitions=settings.partials_partitions)
    encoded = [partials.encode(each, writer="w") for each in counted]
    good = batch(collection, time_ms=start_ms, reports=5)
    producer = Producer(settings)
    await producer.start()
    await producer.publish(
        [
            *(
                Record(topic=reports, key=b"", value=value, partition=PARTITION)
                for value in (good, *[refused.value or b""] * BEHIND)
            ),
            *(Record(topic=names.partials, key=key, value=value, partition=place) for key, value in encoded),
            Record(topic=names.answers(collection), key=final.key, value=final.to_bytes(), partition=0),
            dead_letter(
                refused,
                Rejected(Reason.TOO_SHORT, "25 bytes"),
                collection=collection,
                topic=names.dead_letters(collection.name),
            ),
        ]
    )
    await producer.stop()
    kept = Checkpoint(
        generation=1, offset=1, position=1, watermark_ms=second_ms + window.grace_ms, watermark_generation=1
    )
    await commit(settings, settings.group_names.ingest, reports, kept)
    return Lived(start_ms=start_ms, partitions={spec.name: spec.partitions for spec in specs})


async def commit(settings: Settings, group: str, topic: str, kept: Checkpoint) -> None:
    """Commit for PARTITION as a worker does."""
    place = TopicPartition(topic, PARTITION)
    async with AIOKafkaConsumer(**settings.client_options(), group_id=group, enable_auto_commit=False) as consumer:
        consumer.assign([place])
        await consumer.commit({place: OffsetAndMetadata(kept.offset, kept.metadata())})


def batch(collection: JointCollection, *, time_ms: int, reports: int) -> bytes:
    """Make a batch that can be counted."""
    width = (collection.mechanism.bits + 7) // 8
    return wire.encode(
        wire.Batch(
            fingerprint=collection.fingerprint,
            batch_id=bytes(range(16)),
            time_ms=time_ms,
            rows=np.zeros((reports, width), dtype=np.uint8),
        )
    )
