"""Tests, on a real Kafka, of records that other software than ours writes to the topics of a collection."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import numpy as np
import pytest
from aiokafka import AIOKafkaProducer

from tests.service.harness import JointDeployment, batches

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from stream_ldp.kafka.embedded import EmbeddedKafka

SEED = 20261122

CODECS = ("gzip", "snappy", "lz4", "zstd")

#: Reports of a batch, all alike but for the noise: enough for every codec to make the records smaller.
REPORTS = 2_000


@pytest.fixture
async def deployment(tmp_path: Path, kafka: EmbeddedKafka, prefix: str) -> JointDeployment:
    return await JointDeployment.create(tmp_path, brokers=kafka.bootstrap, prefix=prefix)


def batches_of_now(deployment: JointDeployment, count: int, *, reports: int) -> list[bytes]:
    now_ms = time.time_ns() // 1_000_000
    return batches(deployment.collection, [now_ms] * count, reports=reports, rng=np.random.default_rng(SEED))


async def send_by_aiokafka(deployment: JointDeployment, codec: str, values: Sequence[bytes]) -> None:
    async with AIOKafkaProducer(**deployment.settings.client_options(), compression_type=codec) as producer:
        for value in values:
            await producer.send_and_wait(deployment.names.reports("survey"), value)


def send_by_librdkafka(deployment: JointDeployment, codec: str, values: Sequence[bytes]) -> None:
    confluent_kafka = pytest.importorskip("confluent_kafka", reason="the demo extra is not installed")
    producer = confluent_kafka.Producer({"bootstrap.servers": deployment.settings.brokers, "compression.type": codec})
    for value in values:
        producer.produce(deployment.names.reports("survey"), value)
    assert producer.flush(10) == 0


async def test_reports_count_whatever_codec_their_producer_compresses_with(deployment: JointDeployment) -> None:
    with deployment.worker() as worker:
        await worker.ready()
        for codec in CODECS:
            theirs, ours = batches_of_now(deployment, 2, reports=REPORTS)
            await asyncio.to_thread(send_by_librdkafka, deployment, codec, [theirs])
            await send_by_aiokafka(deployment, codec, [ours])
        await deployment.finals_of(2 * len(CODECS) * REPORTS)
        assert worker.process.poll() is None
