"""Find the consumer groups that workers of earlier collections have left behind."""

from collections.abc import Collection as Container

from stream_ldp.kafka.cluster import Cluster
from stream_ldp.kafka.settings import Settings


async def groups_left_behind(cluster: Cluster, settings: Settings, known: Container[str]) -> list[str]:
    """Name the groups under the workers' prefix that have no member, and whose collections are not known.

    known: names of collections.

    Raises:
        KafkaError, ClusterError: the brokers cannot be asked.
    """
    names = settings.group_names
    ours = {group for name in known for group in names.of(name)}
    others = [
        group for group in sorted(await cluster.groups()) if names.is_of_a_collection(group) and group not in ours
    ]
    return [group for group in others if not await cluster.members(group)]
