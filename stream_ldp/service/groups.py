"""This module finds the consumer groups that workers of earlier collections have left behind."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection as Container

    from stream_ldp.kafka.cluster import Cluster
    from stream_ldp.kafka.settings import Settings

__all__ = ["groups_left_behind"]


async def groups_left_behind(cluster: Cluster, settings: Settings, known: Container[str]) -> list[str]:
    """Name the groups under the workers' prefix that have no member, and whose collections are not known.

    known: names of collections.

    Raises:
        KafkaError, ClusterError: the brokers cannot be asked.
    """
    ours = {group for name in known for group in settings.groups_of(name)}
    # Workers have other groups under the prefix, which belong to no one collection.
    last_parts = tuple(f".{name.rpartition('.')[2]}" for name in settings.groups_of("any"))
    prefix = f"{settings.group}."
    visible = [
        name for name in sorted(await cluster.groups()) if name.startswith(prefix) and name.endswith(last_parts)
    ]
    return [name for name in visible if name not in ours and not await cluster.members(name)]
