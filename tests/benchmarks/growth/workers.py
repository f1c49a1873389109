"""The processor's time of workers on a real Kafka: several that share a topic or its backlog, and one under an even
load.
"""

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

#: The same where estimates are solved every second.
QUICK_RATES = (694, 8_141)

#: Batches of a backlog, in each partition more than a new owner may have to read again; and those encoded at a time.
_BACKLOG, _ENCODED = 1_400_000, 200_000

#: Share of a rate that has to be reached.
_REACHED = 0.9

_COUNTED, _WORKED = "stream_ldp_reports_counted_total", "process_cpu_seconds_total"

#: Seconds between two looks at workers that drain a backlog.
_LOOK_SECONDS = 0.25

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
        worked = _sum(workers, _WORKED)
        asyncio.run(fill(deployment, values))
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while _sum(workers, _COUNTED) < batches * _REPORTS:
            if time.monotonic() > deadline:
                raise TimeoutError(workers[0].log)
            time.sleep(0.1)
        return 1e6 * (_sum(workers, _WORKED) - worked) / batches


def _of_backlogs(scale: float) -> Iterator[tuple[int, Callable[[], float]]]:
    for number in (1, 2):
        yield number, partial(_drained, number, max(1, round(scale * _BACKLOG)))


def _drained(number: int, batches: int) -> float:
    """Return the microseconds of all workers for a batch of a backlog on which they start together.

    Those of each worker count from the first look at which it has counted: what a start takes is no cost of a batch.
    """
    with EmbeddedKafka() as kafka, tempfile.TemporaryDirectory() as directory, ExitStack() as running:
        document = document_of((2,) * 16, window="1h")
        deployment = asyncio.run(deployed(Path(directory), kafka.bootstrap, document))
        for first in range(0, batches, _ENCODED):
            some = min(_ENCODED, batches - first)
            asyncio.run(fill(deployment, encoded(deployment, some, reports=_REPORTS, first=first)))
        workers = [running.enter_context(GroupedWorker(deployment, group="bench")) for _ in range(number)]
        begun: dict[int, float] = {}
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while True:
            if time.monotonic() > deadline:
                raise TimeoutError(workers[0].log)
            time.sleep(_LOOK_SECONDS)
            looks = [worker.metrics() for worker in workers]
            counted = [look.get(_COUNTED, 0.0) for look in looks]
            worked = [look.get(_WORKED, 0.0) for look in looks]
            for place, reports in enumerate(counted):
                if reports:
                    begun.setdefault(place, worked[place])
            # What a partition's earlier owner had not committed is counted, and comes, twice.
            lag = sum(look.get("stream_ldp_consumer_lag", 0.0) for look in looks)
            if sum(counted) >= batches * _REPORTS and not lag:
                return 1e6 * sum(worked[place] - before for place, before in begun.items()) / batches


def _of_rates(scale: float) -> Iterator[tuple[int, Callable[[], float]]]:
    for rate in EVEN_RATES:
        yield rate, partial(_live, rate, max(1.0, scale * _LIVE_SECONDS))


def _of_quick_rates(scale: float) -> Iterator[tuple[int, Callable[[], float]]]:
    for rate in QUICK_RATES:
        yield rate, partial(_live, rate, max(1.0, scale * _LIVE_SECONDS), every="1s")


def _live(rate: int, seconds: float, *, every: str = "2s") -> float:
    """Return the share of a core, in percent, that a warm worker takes while so many batches a second come.

    Raises:
        RuntimeError: fewer came, or were counted, as on a machine that has other work.
    """
    with EmbeddedKafka() as kafka, tempfile.TemporaryDirectory() as directory:
        document = document_of((2,) * 16)
        for estimate in document["estimates"]:
            estimate["every"] = every
        deployment = asyncio.run(deployed(Path(directory), kafka.bootstrap, document))
        with GroupedWorker(deployment) as worker:
            asyncio.run(worker.ready())
            asyncio.run(_produce(deployment, rate, seconds=_WARM_SECONDS))
            began, before = time.monotonic(), worker.metrics()
            asyncio.run(_produce(deployment, rate, seconds=seconds))
            after, took = worker.metrics(), time.monotonic() - began
            grown = {name: after[name] - before.get(name, 0.0) for name in (_COUNTED, _WORKED)}
            if grown[_COUNTED] < _REACHED * rate * _REPORTS * took:
                raise RuntimeError(
                    f"{grown[_COUNTED] / _REPORTS / took:,.0f} of {rate:,} batches a second were counted"
                )
            return 100 * grown[_WORKED] / took


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
    Curve(
        against="batches of 50 a second, estimates every second",
        cost="% of a core, whole worker",
        points=_of_quick_rates,
    ),
    Curve(against="workers that start on a backlog", cost="us a batch of 50, whole workers", points=_of_backlogs),
    Curve(against="workers that share 4 partitions", cost="us a batch of 50, whole workers", points=_of_workers),
)
