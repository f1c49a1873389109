"""Keep the places from which windows can be rebuilt, as commits of consumer groups without members.

A commit that is lost, or refused, costs time at the next start and nothing else.
"""

from aiokafka import TopicPartition

from stream_ldp.collection import Collection
from stream_ldp.kafka.cluster import REFUSED_WHILE_MEMBERS, Cluster
from stream_ldp.kafka.offsets import bounds_of
from stream_ldp.kafka.settings import Settings
from stream_ldp.pipeline.merge_checkpoint import MergeCheckpoint
from stream_ldp.pipeline.partials import partition_of


def merge_places(settings: Settings, collection: Collection) -> tuple[TopicPartition, TopicPartition]:
    """Return the partitions of the partials and answers topics that have a collection."""
    names = settings.topic_names
    partition = partition_of(collection.name, partitions=settings.partials_partitions)
    return TopicPartition(names.partials, partition), TopicPartition(names.answers(collection), 0)


async def commit_merge(
    cluster: Cluster, settings: Settings, collection: Collection, checkpoint: MergeCheckpoint
) -> None:
    """Commit the places from which the windows of a collection can be rebuilt.

    Raises:
        KafkaError: the brokers refuse it.
    """
    partials, answers = merge_places(settings, collection)
    commits = {
        partials: (checkpoint.partials, checkpoint.metadata(collection)),
        answers: (checkpoint.answers, ""),
    }
    await cluster.commit(settings.group_names.merged(collection.name), commits)


async def last_merge(cluster: Cluster, settings: Settings, collection: Collection) -> MergeCheckpoint | None:
    """Return the places from which the windows of a collection can be rebuilt; None for the whole logs.

    Raises:
        KafkaError, ClusterError: the brokers cannot be asked.
    """
    partials, answers = merge_places(settings, collection)
    commits = await cluster.commits(settings.group_names.merged(collection.name), (partials, answers))
    if partials not in commits or answers not in commits:
        # Kafka forgets what was committed of a topic that is deleted.
        return None
    offset, metadata = commits[partials]
    return MergeCheckpoint.parse(
        answers=commits[answers][0],
        partials=offset,
        metadata=metadata,
        collection=collection,
        regions=settings.region_names,
    )


async def begin_at_the_end(cluster: Cluster, settings: Settings, group: str) -> None:
    """Let a group that has no members read on where the partials topic ends now.

    A worker that rebuilds windows reads what was written before, as far as they need it. A group with members goes on
    from its commits, which are some seconds old.

    Raises:
        KafkaError: the brokers cannot be asked, or refuse it.
    """
    topic = settings.topic_names.partials
    places = [TopicPartition(topic, partition) for partition in range(settings.partials_partitions)]
    bounds = await bounds_of(settings, places)
    try:
        await cluster.commit(group, {place: (end, "") for place, (_, end) in bounds.items()})
    except REFUSED_WHILE_MEMBERS:
        return
