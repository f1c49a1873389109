"""Make topics for a test, which are there for all who ask once they have been made."""

from stream_ldp.kafka.cluster import Cluster
from stream_ldp.kafka.settings import Settings
from stream_ldp.kafka.topics import TopicSpec


async def create(settings: Settings, *names: str, partitions: int = 1, **config: str) -> None:
    """Create topics, and wait for their leaders: what a controller has created, brokers describe a moment later."""
    specs = [TopicSpec(name=name, partitions=partitions, config=config) for name in names]
    async with Cluster.connect(settings) as cluster:
        await cluster.create(specs, replication=1)
