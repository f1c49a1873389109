"""Tests of partitions that join a collection, on a real broker."""

from dataclasses import replace

import pytest

from stream_ldp.kafka.cluster import Cluster
from stream_ldp.kafka.producer import Producer, Record
from stream_ldp.kafka.settings import Settings
from stream_ldp.kafka.topics import MAX_RECORD_BYTES, topic_specs
from stream_ldp.pipeline import partials
from stream_ldp.pipeline.partials import Watermark, partition_of
from stream_ldp.pipeline.topic_identity import TopicIdentity
from stream_ldp.service.joining import Joining
from stream_ldp.service.windows_log import partials_log
from tests.pipeline.test_merging import SURVEY, watermark

TOPIC = TopicIdentity(id="a1", partitions=4)


async def test_what_joins_is_on_the_log_before_it_is_known_what_has_been_closed_without_it(
    settings: Settings,
) -> None:
    specs = topic_specs([SURVEY], prefix=settings.topic_prefix, partials_partitions=settings.partials_partitions)
    place = partition_of(SURVEY.name, partitions=settings.partials_partitions)
    producer = Producer(settings, max_record_bytes=MAX_RECORD_BYTES, acknowledge_seconds=10.0)
    async with Cluster.connect(settings) as cluster:
        await cluster.create(specs, replication=1)
        await producer.start()
        try:
            passed = replace(watermark(9_000), topic=replace(TOPIC, partitions=1))
            # What a mirror has brought says nothing about the partitions here.
            elsewhere = replace(passed, region="us", time_ms=99_000, generation=99)
            encoded = [partials.encode(each, writer="w") for each in (passed, elsewhere)]
            await producer.publish(
                Record(topic=settings.topic_names.partials, key=key, value=value, partition=place)
                for key, value in encoded
            )
            joining = Joining(SURVEY, settings=settings, cluster=cluster, producer=producer)
            closed = await joining.join([1, 3], topic=TOPIC, generation=17)
        finally:
            await producer.stop()
    assert closed.watermark_ms(1) == closed.watermark_ms(3) == 9_000
    assert closed.generation(3) == 17
    joined = [each.record async for each in partials_log(SURVEY.name, settings=settings)][2:]
    assert [(each.partition, each.time_ms, each.topic) for each in joined if isinstance(each, Watermark)] == [
        (1, None, TOPIC),
        (3, None, TOPIC),
    ]


@pytest.mark.parametrize("time_ms", [None, 5])
def test_a_watermark_with_its_topic_comes_back_as_it_was(time_ms: int | None) -> None:
    record = replace(watermark(0), time_ms=time_ms, topic=TOPIC)
    assert partials.decode(partials.encode(record, writer="w")[1]) == record
