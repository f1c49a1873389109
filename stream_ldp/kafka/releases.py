"""Keep what operators have released from quarantine: commits of a consumer group without members.

A commit of a partition says that records before its offset are passed over, even if they may hide something. Such
commits outlast restarts, can be made while workers run, and change no topic.
"""

from aiokafka import TopicPartition

from stream_ldp.collection import Collection
from stream_ldp.kafka.cluster import Cluster
from stream_ldp.kafka.merge_commits import merge_places
from stream_ldp.kafka.offsets import unsubscribed
from stream_ldp.kafka.settings import Settings


async def release(settings: Settings, collection: Collection) -> dict[str, int]:
    """Release all that is on the partials and answers topics of a collection now.

    Returns:
        By topic, the offset before which records are released.

    Raises:
        KafkaError: the brokers refuse it.
    """
    places = merge_places(settings, collection)
    async with unsubscribed(settings, group=settings.group_names.released(collection.name)) as consumer:
        consumer.assign(places)
        ends: dict[TopicPartition, int] = await consumer.end_offsets(places)
        await consumer.commit(ends)
    return {place.topic: end for place, end in ends.items()}


async def released(cluster: Cluster, settings: Settings, collection: Collection) -> dict[str, int]:
    """Return, by topic, the offset before which records have been released.

    Raises:
        KafkaError, ClusterError: the brokers cannot be asked.
    """
    commits = await cluster.committed(
        settings.group_names.released(collection.name), merge_places(settings, collection)
    )
    return {place.topic: offset for place, offset in commits.items()}
