"""Pause a registered collection, so that nobody counts or merges it while it is changed or retired."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

from aiokafka import TopicPartition

from stream_ldp.collection import Collection
from stream_ldp.errors import StreamLDPError
from stream_ldp.kafka.cluster import Cluster, ClusterError
from stream_ldp.kafka.fenced_producer import FencedProducer
from stream_ldp.kafka.offsets import bounds_of
from stream_ldp.kafka.registry import Registration, register
from stream_ldp.kafka.settings import Settings
from stream_ldp.kafka.topics import MAX_RECORD_BYTES
from stream_ldp.pipeline.retirement import Retirement

#: Seconds for all workers to end their work on a collection: those that follow the registry do so within some two,
#: and one that has been killed or frozen is a member of its group until its session ends.
LEAVE_SECONDS = 30.0

#: Seconds between two looks at whether they have.
LOOK_SECONDS = 0.2


class StillServed(StreamLDPError, RuntimeError):
    """Some worker goes on with a collection that is paused."""


@asynccontextmanager
async def paused(
    cluster: Cluster, settings: Settings, known: Registration, collection: Collection
) -> AsyncIterator[None]:
    """Let nobody count or merge a collection within an `async with` block, which has to register it anew.

    When the block begins, no member of the counting group subscribes to its reports, and no worker can write its
    finals before it has seen the pause: see `stream_ldp.service.roster`. If it cannot begin, the collection is served
    as before. If it fails, the collection stays paused, since nobody can say what has been registered.

    known: what it is registered as.

    Raises:
        StillServed: workers do not leave its group.
        RegistryError, KafkaError, ClusterError: the brokers cannot be used, or refuse it.
    """
    before = replace(known, paused=False)
    await register(settings, [replace(known, paused=True)])
    try:
        await _left(cluster, settings, settings.topic_names.reports(known.name))
        fence = FencedProducer(
            settings,
            topic=settings.topic_names.answers(collection),
            max_record_bytes=MAX_RECORD_BYTES,
            acknowledge_seconds=LEAVE_SECONDS,
        )
        await fence.take()
        await fence.stop()
    except BaseException:
        await register(settings, [before])
        raise
    yield


async def _left(cluster: Cluster, settings: Settings, topic: str) -> None:
    group = settings.group_names.ingest
    try:
        async with asyncio.timeout(LEAVE_SECONDS):
            # Kafka sends no notice of it: the only way to find out is to ask again.
            while await cluster.members(group, of=topic):  # noqa: ASYNC110
                await asyncio.sleep(LOOK_SECONDS)
    except TimeoutError:
        raise StillServed(
            f"workers still count {topic} after {LEAVE_SECONDS:.0f} s, and nothing has been changed\n"
            "  -> stop the workers that were started with the collection's file: only those without a file follow "
            "the registry"
        ) from None


async def retirement_now(cluster: Cluster, settings: Settings, name: str) -> Retirement:
    """Return that the log of a collection, which is paused, ends where it does now.

    Raises:
        KafkaError: the brokers cannot be asked.
        ClusterError: it has no reports topic.
    """
    topic = settings.topic_names.reports(name)
    identity = (await cluster.identities([topic])).get(topic)
    if identity is None:
        raise ClusterError(f"topic {topic} does not exist")
    places = [TopicPartition(topic, number) for number in range(identity.partitions)]
    bounds = await bounds_of(settings, places)
    return Retirement(topic_id=identity.id, ends=tuple(bounds[place][1] for place in places))
