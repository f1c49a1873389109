"""Tests that commits say from where windows are rebuilt, on a real broker."""

from collections.abc import AsyncIterator

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.errors import UnknownMemberIdError

from stream_ldp.kafka.cluster import Cluster
from stream_ldp.kafka.merge_commits import begin_at_the_end, commit_merge, last_merge
from stream_ldp.kafka.settings import Settings
from stream_ldp.kafka.topics import topic_specs
from stream_ldp.pipeline.merge_checkpoint import MergeCheckpoint
from tests.pipeline.test_merging import SURVEY


@pytest.fixture
async def cluster(settings: Settings) -> AsyncIterator[Cluster]:
    specs = topic_specs([SURVEY], prefix=settings.topic_prefix, partials_partitions=settings.partials_partitions)
    async with Cluster.connect(settings) as cluster:
        await cluster.create(specs, replication=1)
        yield cluster


async def test_the_last_commit_is_found_by_whoever_merges_next(settings: Settings, cluster: Cluster) -> None:
    assert await last_merge(cluster, settings, SURVEY) is None
    for partials in (7, 5):
        checkpoint = MergeCheckpoint(answers=3, partials=partials, forgotten_before_ms=60_000)
        await commit_merge(cluster, settings, SURVEY, checkpoint)
        assert await last_merge(cluster, settings, SURVEY) == checkpoint


async def test_a_group_without_members_begins_at_the_end_and_one_with_members_where_it_was(
    settings: Settings, cluster: Cluster
) -> None:
    topic, group = settings.topic_names.partials, f"{settings.group}._merge.x"
    place = TopicPartition(topic, 1)
    async with AIOKafkaProducer(**settings.client_options()) as producer:
        for _ in range(2):
            await producer.send_and_wait(topic, b"", key=b"k", partition=1)
            await begin_at_the_end(cluster, settings, group)
        assert await cluster.committed(group, [place]) == {place: 2}
        async with AIOKafkaConsumer(topic, **settings.client_options(), group_id=group) as consumer:
            await consumer.getmany(timeout_ms=0)
            await producer.send_and_wait(topic, b"", key=b"k", partition=1)
            await begin_at_the_end(cluster, settings, group)
            assert await cluster.committed(group, [place]) == {place: 2}
            with pytest.raises(UnknownMemberIdError, match="cannot commit"):
                await cluster.commit(group, {place: (3, "")})
