"""The processor's time of workers on a real Kafka: several that share a topic, and one under an even load."""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from aiokafka import AIOKafkaProducer

from stream_ldp.kafka.embedded import EmbeddedKafka
from stream_ldp.pipeline import wire
from tests.benchmarks.growth.curves import Curve
from tests.benchmarks.speed.counting import document_of, rows_of
from tests.benchmarks.speed.draining import GroupedWorker, deployed, encoded, fill
from tests.benchmarks.speed.drains import PARTITIONS
from tests.service.harness import JointDeployment

_REPORTS = 50

#: Seconds that counting may take.
_PATIENCE_SECONDS = 120.0

#: Batches of 50 a second: a hundredth of the busiest hour of a billion users, all of it, and ten times as many.
EVEN_RATES = (7, 694, 6_944)

#: Seconds of an even load that are measured, those before them, and those between two looks at the clock.
_LIVE_SECONDS, _WARM_SECONDS, _STEP_SECONDS = 20.0, 6.0, 0.002


def _of_workers(scale: float) -> Iterator[tuple[int, Callable[[], float]]]:
    for number in (1, 2):
        yield number, partial(_counted, number, max(1, round(scale * 200_000)))


def _counted(number: int, batches: int) -> float:
    """Return the microseconds of all workers for a batch that comes while they are ready."""
    with EmbeddedKafka() as kafka, tempfile.TemporaryDirectory() as directory, ExitStack() as running:
        document = document_of((2,) * 16, window="1h")
        deployment = asyncio.run(deployed(Path(directory), kafka.bootstrap, document))
        values = encoded(deployment, batches, reports=_REPORTS)
        workers = [running.enter_context(GroupedWorker(deployment, group="bench")) for _ in range(number)]
        for worker in workers:
            asyncio.run(worker.ready())
        worked = _sum(workers, "process_cpu_seconds_total")
        asyncio.run(fill(deployment, values))
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while _sum(workers, "stream_ldp_reports_counted_total") < batches * _REPORTS:
            if time.monotonic() > deadline:
                raise TimeoutError(workers[0].log)
            time.sleep(0.1)
        return 1e6 * (_sum(workers, "process_cpu_seconds_total") - worked) / batches


def _of_rates(scale: float) -> Iterator[tuple[int, Callable[[], float]]]:
    for rate in EVEN_RATES:
        yield rate, partial(_live, rate, max(1.0, scale * _LIVE_SECONDS))


def _live(rate: int, seconds: float) -> float:
    """Return the share of a core, in percent, that a warm worker takes while so many batches a second come."""
    with EmbeddedKafka() as kafka, tempfile.TemporaryDirectory() as directory:
        deployment = asyncio.run(deployed(Path(directory), kafka.bootstrap, document_of((2,) * 16)))
        with GroupedWorker(deployment) as worker:
            asyncio.run(worker.ready())
            asyncio.run(_produce(deployment, rate, seconds=_WARM_SECONDS))
            began, worked = time.monotonic(), _sum([worker], "process_cpu_seconds_total")
            asyncio.run(_produce(deployment, rate, seconds=seconds))
            worked = _sum([worker], "process_cpu_seconds_total") - worked
            return 100 * worked / (time.monotonic() - began)


async def _produce(deployment: JointDeployment, rate: int, *, seconds: float) -> None:
    """Write batches of this moment at an even rate, to the partitions in turn."""
    topic, rows = deployment.names.reports(deployment.collection.name), rows_of(deployment.collection, _REPORTS)
    producer = AIOKafkaProducer(**deployment.settings.client_options())
    await producer.start()
    try:
        began, sent = time.monotonic(), 0
        while (passed := time.monotonic() - began) < seconds:
            for number in range(sent, round(passed * rate)):
                batch = wire.Batch(
                    fingerprint=deployment.collection.fingerprint,
                    batch_id=os.urandom(16),
                    time_ms=time.time_ns() // 1_000_000,
                    rows=rows,
                )
                await producer.send(topic, wire.encode(batch), partition=number % PARTITIONS)
            sent = round(passed * rate)
            await asyncio.sleep(_STEP_SECONDS)
    finally:
        await producer.stop()


def _sum(workers: list[GroupedWorker], name: str) -> float:
    return sum(worker.metrics().get(name, 0.0) for worker in workers)


CURVES = (
    Curve(against="batches of 50 a second, at an even rate", cost="% of a core, whole worker", points=_of_rates),
    Curve(against="workers that share 4 partitions", cost="us a batch of 50, whole workers", points=_of_workers),
)
