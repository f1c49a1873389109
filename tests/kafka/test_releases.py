"""Tests that what operators release is kept, and tells nothing of what comes later."""

from aiokafka import AIOKafkaProducer

from stream_ldp.kafka.cluster import Cluster
from stream_ldp.kafka.releases import release, released
from stream_ldp.kafka.settings import Settings
from stream_ldp.kafka.topics import topic_specs
from stream_ldp.pipeline.partials import partition_of
from tests.client.examples import collection_of


async def test_a_release_is_of_what_is_on_the_collections_own_partitions_at_that_moment(settings: Settings) -> None:
    collection, names = collection_of(), settings.topic_names
    specs = topic_specs([collection], prefix=settings.topic_prefix, partials_partitions=settings.partials_partitions)
    partition = partition_of(collection.name, partitions=settings.partials_partitions)
    async with Cluster.connect(settings) as cluster, AIOKafkaProducer(**settings.client_options()) as producer:
        await cluster.create(specs, replication=1)
        assert await released(cluster, settings, collection) == {}
        for value in (b"a", b"b"):
            await producer.send_and_wait(names.partials, value, key=b"", partition=partition)
        await producer.send_and_wait(names.partials, b"another's", key=b"", partition=(partition + 1) % 4)
        now = {names.partials: 2, names.answers_of(collection.name, "estimates"): 0}
        assert await release(settings, collection) == now
        await producer.send_and_wait(names.partials, b"c", key=b"", partition=partition)
        assert await released(cluster, settings, collection) == now
