"""Tests that the set of collections of a deployment can change while its workers go on."""

import asyncio
import signal
import time
from pathlib import Path

import numpy as np
import pytest

from stream_ldp.kafka.embedded import EmbeddedKafka
from tests.service.harness import JointDeployment, batches
from tests.service.test_worker import assert_finals_are_exact


async def report(deployment: JointDeployment, until: asyncio.Event) -> int:
    """Report without a pause until it is time, and return the number of reports."""
    rng, number = np.random.default_rng(1), 0
    while not until.is_set():
        now_ms = time.time_ns() // 1_000_000
        await deployment.send(batches(deployment.collection, [now_ms] * 20, reports=10, rng=rng))
        number += 200
        await asyncio.sleep(0.1)
    return number


async def finals_come(deployment: JointDeployment, *, number: int) -> None:
    """Wait until there are so many finals more."""
    before = len(await deployment.finals())
    async with asyncio.timeout(60):
        while len(await deployment.finals()) < before + number:
            await asyncio.sleep(0.5)


@pytest.mark.long
@pytest.mark.timeout(300)
async def test_every_final_is_published_once_through_upgrades_and_kills(
    tmp_path: Path, kafka: EmbeddedKafka, prefix: str
) -> None:
    """Workers of both sets merge the collection side by side, each set in a group of its own."""
    alone = await JointDeployment.create(tmp_path, brokers=kafka.bootstrap, prefix=prefix)
    beside = await alone.beside_another()
    enough = asyncio.Event()
    with alone.worker() as first, alone.worker() as second:
        await asyncio.gather(first.ready(), second.ready())
        reporting = asyncio.create_task(report(alone, enough))
        with beside.worker() as third, beside.worker() as fourth:
            await asyncio.gather(third.ready(), fourth.ready())
            await finals_come(alone, number=3)
            first.signal(signal.SIGKILL)
            await finals_come(alone, number=3)
            third.signal(signal.SIGSTOP)
            await asyncio.sleep(8)  # longer than its session
            third.signal(signal.SIGCONT)
            await finals_come(alone, number=3)
            second.signal(signal.SIGTERM)
            assert await second.ended() == 0
            with alone.worker() as fifth:
                await fifth.ready()
                await finals_come(alone, number=3)
                fourth.signal(signal.SIGKILL)
                third.signal(signal.SIGTERM)
                assert await third.ended() == 0
                await finals_come(alone, number=2)
                enough.set()
                await assert_finals_are_exact(alone, reports=await reporting)
                fifth.signal(signal.SIGTERM)
                assert await fifth.ended() == 0
