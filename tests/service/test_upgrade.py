"""Tests of workers whose set of collections changes one worker after the other, on a real Kafka."""

from __future__ import annotations

import asyncio
import signal
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from stream_ldp.kafka.cluster import Cluster
from stream_ldp.kafka.registry import Registration, register
from stream_ldp.kafka.topics import topic_specs
from stream_ldp.kinds import load_collection
from tests.service.harness import SURVEY, JointDeployment
from tests.service.test_worker import assert_finals_are_exact, play

if TYPE_CHECKING:
    from pathlib import Path

    from stream_ldp.kafka.embedded import EmbeddedKafka


async def with_another(deployment: JointDeployment) -> JointDeployment:
    """Add a second collection, and return the deployment as workers of both serve it."""
    file = deployment.directory / "another.yaml"
    file.write_text(SURVEY.format(name="another"), encoding="utf-8")
    collection, settings = load_collection(file), deployment.settings
    specs = topic_specs([collection], prefix=settings.topic_prefix, partials_partitions=settings.partials_partitions)
    async with Cluster.connect(settings) as cluster:
        await cluster.create(specs, replication=1)
    await register(settings, [Registration.of(collection)])
    return replace(deployment, others=(file,))


@pytest.mark.long
async def test_finals_have_one_content_while_workers_of_more_collections_replace_the_old_ones(
    tmp_path: Path, kafka: EmbeddedKafka, prefix: str
) -> None:
    """Both sets of workers merge the collection for a while, and may publish a final twice: the same one."""
    before = await JointDeployment.create(tmp_path, brokers=kafka.bootstrap, prefix=prefix)
    after = await with_another(before)
    with before.worker() as first, before.worker() as second:
        await asyncio.gather(first.ready(), second.ready())
        playing = asyncio.create_task(play(before, users=60_000, seconds=12))
        await asyncio.sleep(2)
        with after.worker() as third, after.worker() as fourth:
            await third.ready()
            first.signal(signal.SIGTERM)
            assert await first.ended() == 0
            await fourth.ready()
            second.signal(signal.SIGTERM)
            assert await second.ended() == 0
            await playing
            await assert_finals_are_exact(before, reports=60_000)
            for worker in (third, fourth):
                worker.signal(signal.SIGTERM)
                assert await worker.ended() == 0
