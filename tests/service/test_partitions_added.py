"""Tests of reports topics that get more partitions while workers count them, on a real Kafka."""

import asyncio
import signal
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions

from stream_ldp.kafka.embedded import EmbeddedKafka
from stream_ldp.pipeline import wire
from tests.service.harness import JointDeployment, WorkerProcess, batches

#: Reports of a batch.
REPORTS = 5

#: Seconds within which reports in partitions that are added count like all others: the consumers look every two, the
#: group assigns its partitions anew, and their owners read the log.
NOTICED_SECONDS = 8.0


@pytest.fixture
async def deployment(tmp_path: Path, kafka: EmbeddedKafka, prefix: str) -> JointDeployment:
    return await JointDeployment.create(tmp_path, brokers=kafka.bootstrap, prefix=prefix)


async def widen(deployment: JointDeployment, *, partitions: int) -> None:
    """Add partitions to the reports topic."""
    topic = deployment.names.reports(deployment.collection.name)
    admin = AIOKafkaAdminClient(**deployment.settings.client_options())
    await admin.start()
    try:
        await admin.create_partitions({topic: NewPartitions(partitions)})
    finally:
        await admin.close()
    deployment.partitions[topic] = partitions


async def feed(deployment: JointDeployment, *, seconds: float) -> int:
    """Report for so many seconds to all partitions that there are, and return the number of reports."""
    rng, number, until = np.random.default_rng(1), 0, time.monotonic() + seconds
    while time.monotonic() < until:
        now_ms = time.time_ns() // 1_000_000
        await deployment.send(batches(deployment.collection, [now_ms] * 14, reports=REPORTS, rng=rng))
        number += 14 * REPORTS
        await asyncio.sleep(0.1)
    return number


async def late(deployment: JointDeployment) -> Counter[int]:
    """Count the reports that were refused as late, by their windows."""
    counts: Counter[int] = Counter()
    window = deployment.collection.window
    for record in await deployment.records(deployment.names.dead_letters(deployment.collection.name)):
        assert dict(record.headers)["reason"] == b"late"
        header = wire.Header.of(record.value)
        assert header is not None
        counts[header.time_ms - header.time_ms % window.size_ms] += header.count
    return counts


async def account_for(deployment: JointDeployment, reports: int, *, within: float = 60.0) -> Counter[int]:
    """Wait until every report is in a final or a dead letter, and return the late ones, by their windows."""
    counted, refused = 0, Counter[int]()
    try:
        async with asyncio.timeout(within):
            while counted + refused.total() < reports:
                await asyncio.sleep(0.5)
                finals, refused = await deployment.finals(), await late(deployment)
                counted = sum(each.reports for each in finals)
    except TimeoutError:
        raise AssertionError(f"of {reports} reports, {counted} counted and {refused.total()} late") from None
    assert counted + refused.total() == reports
    expected = {window: counts.reports for window, counts in (await deployment.expected()).items()}
    found = {each.window.start_ms: each.reports for each in finals if each.reports}
    assert len(found) == len([each for each in finals if each.reports]), "a final was published twice"
    assert {window: found.get(window, 0) + refused[window] for window in expected} == expected
    return refused


@pytest.mark.long
async def test_reports_in_partitions_that_are_added_count_within_seconds_and_no_earlier_ones_vanish(
    deployment: JointDeployment,
) -> None:
    with deployment.worker() as first, deployment.worker() as second:
        await asyncio.gather(first.ready(), second.ready())
        sent = await feed(deployment, seconds=4)
        await widen(deployment, partitions=7)
        widened_ms = time.time() * 1_000
        sent += await feed(deployment, seconds=NOTICED_SECONDS + 8)
        refused = await account_for(deployment, sent)
        assert all(window < widened_ms + 1_000 * NOTICED_SECONDS for window in refused), refused
        await assert_at_work(first, second)


async def assert_at_work(*workers: WorkerProcess) -> None:
    """Assert that workers are ready, and have never ended."""
    for worker in workers:
        await worker.ready()
        assert worker.process.poll() is None, worker.log
        assert "Traceback" not in worker.log, worker.log


# How partitions that are added begin, test_ownership.py shows in memory; tests/kinds/test_on_kafka.py kills a worker.
@pytest.mark.long
async def test_no_report_vanishes_if_a_worker_is_killed_while_partitions_are_added(
    deployment: JointDeployment,
) -> None:
    with deployment.worker() as first, deployment.worker() as second:
        await asyncio.gather(first.ready(), second.ready())
        sent = await feed(deployment, seconds=3)
        await widen(deployment, partitions=7)
        sent += await feed(deployment, seconds=2.5)
        first.signal(signal.SIGKILL)
        sent += await feed(deployment, seconds=6)
        await account_for(deployment, sent)
        await assert_at_work(second)


@pytest.mark.long
async def test_what_comes_to_partitions_that_were_added_in_absence_is_late_if_its_window_was_closed(
    deployment: JointDeployment,
) -> None:
    with deployment.worker() as first:
        await first.ready()
        sent = await feed(deployment, seconds=3)
        await deployment.finals_of(sent)
        first.signal(signal.SIGTERM)
        assert await first.ended() == 0
    (decided,) = {each.window.start_ms for each in (await deployment.finals())[:1]}
    await widen(deployment, partitions=7)
    old = batches(deployment.collection, [decided + 1] * 40, reports=REPORTS, rng=np.random.default_rng(2))
    await deployment.send(old)
    sent += 40 * REPORTS
    with deployment.worker() as second:
        await second.ready()
        sent += await feed(deployment, seconds=3)
        refused = await account_for(deployment, sent)
        assert refused == {decided: 40 * REPORTS}
