"""Tests that the mock cluster does what the demo needs of a broker, on a machine without Java."""

import sys

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.structs import OffsetAndMetadata

from stream_ldp.kafka.embedded import EmbeddedMock, MissingTool
from stream_ldp.kafka.embedded.process import accepts
from tests.kafka.embedded.administration import administration


async def test_the_mock_gives_a_group_its_records_and_keeps_a_commit_with_its_metadata() -> None:
    pytest.importorskip("confluent_kafka", reason="the demo extra is not installed")
    partition = TopicPartition("reports", 2)
    with EmbeddedMock() as mock:
        mock.touch(["reports"])
        async with AIOKafkaProducer(bootstrap_servers=mock.bootstrap, enable_idempotence=True) as producer:
            await producer.send_and_wait("reports", b"first", partition=2)
        async with AIOKafkaConsumer(
            "reports",
            bootstrap_servers=mock.bootstrap,
            group_id="group",
            enable_auto_commit=False,
            auto_offset_reset="earliest",
        ) as consumer:
            assert (await consumer.getone()).value == b"first"
            await consumer.commit({partition: OffsetAndMetadata(1, "watermark 7")})
        async with administration(mock.bootstrap) as admin:
            commits = await admin.list_consumer_group_offsets("group", partitions=[partition])
        assert commits == {partition: OffsetAndMetadata(1, "watermark 7")}


def test_the_mock_ends_with_the_block_that_uses_it() -> None:
    pytest.importorskip("confluent_kafka", reason="the demo extra is not installed")
    with EmbeddedMock() as mock:
        port = int(mock.bootstrap.rpartition(":")[2])
        assert accepts(port)
    assert not accepts(port)


def test_without_confluent_kafka_the_mock_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    with pytest.raises(MissingTool, match=r"pip install 'stream-ldp\[demo\]'"):
        EmbeddedMock()
