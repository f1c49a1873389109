"""The time from a report to an estimate that holds it, at shares of the rate at which a worker is saturated."""

import asyncio
import itertools
import math
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

from stream_ldp.kafka.embedded import EmbeddedKafka
from stream_ldp.records.answer import Estimate
from tests.benchmarks.speed.counting import document_of
from tests.benchmarks.speed.draining import GroupedWorker, deployed, encoded
from tests.benchmarks.speed.drains import PARTITIONS
from tests.benchmarks.speed.measuring import compared
from tests.service.harness import JointDeployment

#: Reports of a batch.
_REPORTS = 50

#: Seconds between two provisional estimates, and of a run at one rate.
_EVERY_SECONDS = 1.0
_RUN_SECONDS = 10.0

#: Seconds at the start of a run that do not count: a worker finds its partitions, and imports what solves.
_WARM_SECONDS = 5.0

#: Seconds between two writes of the producer.
_TICK_SECONDS = 0.02

_SHARES = (0.1, 0.5, 0.9)


def rows(scale: float, rounds: int) -> Iterator[dict[str, Any]]:
    """Measure with runs of `scale` times the length that is meant, and yield rows of the table."""
    with EmbeddedKafka() as kafka, tempfile.TemporaryDirectory() as directory:
        rates = []
        for number in range(rounds):
            place = Path(directory) / f"saturated-{number}"
            place.mkdir()
            rates.append(_saturated_rate(place, kafka.bootstrap, records=round(scale * 500_000)))
        saturated = sorted(rates)[len(rates) // 2]
        for share in _SHARES:
            latencies = []
            for number in range(rounds):
                place = Path(directory) / f"{share}-{number}"
                place.mkdir()
                latencies.append(_run(place, kafka.bootstrap, rate=share * saturated, seconds=scale * _RUN_SECONDS))
            p50, p99 = ([float(np.quantile(each, level)) for each in latencies] for level in (0.5, 0.99))
            yield {
                "work": (
                    f"from a report to an estimate that holds it, with estimates every {_EVERY_SECONDS:g} s, at "
                    f"{share:.0%} of the {saturated:,.0f} batches of {_REPORTS} a second that saturate it, p99"
                ),
                "unit": "s",
                **compared(p99, {"p50": p50, "`every`": [_EVERY_SECONDS] * rounds}),
            }


async def _made(directory: Path, bootstrap: str) -> JointDeployment:
    document = document_of((2,) * 16, window="1h")
    for estimate in document["estimates"]:
        estimate["every"] = f"{_EVERY_SECONDS:g}s"
    return await deployed(directory, bootstrap, document)


def _saturated_rate(directory: Path, bootstrap: str, *, records: int) -> float:
    """Return the rate of batches a second at which estimates follow a producer that writes as fast as it can."""
    deployment = asyncio.run(_made(directory, bootstrap))
    values = encoded(deployment, records, reports=_REPORTS)
    with GroupedWorker(deployment) as worker:
        produced, seen = asyncio.run(_followed(deployment, worker, values, math.inf))
    return records / (seen[-1][0] - produced[0][0])


def _run(directory: Path, bootstrap: str, *, rate: float, seconds: float) -> list[float]:
    """Return the seconds of evenly chosen reports, at a rate of batches a second."""
    deployment = asyncio.run(_made(directory, bootstrap))
    values = encoded(deployment, max(1, round(rate * (_WARM_SECONDS + seconds))), reports=_REPORTS)
    with GroupedWorker(deployment) as worker:
        produced, seen = asyncio.run(_followed(deployment, worker, values, rate))
    found = []
    estimates = iter(seen)
    arrived, held = next(estimates)
    for at, reports in produced:
        while held < reports:
            arrived, held = next(estimates)
        if at - produced[0][0] >= _WARM_SECONDS:
            found.append(arrived - at)
    return found


async def _followed(
    deployment: JointDeployment, worker: GroupedWorker, values: list[bytes], rate: float
) -> tuple[list[tuple[float, int]], list[tuple[float, int]]]:
    """Return when so many reports were written, and when an estimate held so many."""
    await worker.ready()
    total = len(values) * _REPORTS
    consumer = AIOKafkaConsumer(**deployment.settings.client_options(), enable_auto_commit=False)
    producer = AIOKafkaProducer(**deployment.settings.client_options(), acks="all", max_batch_size=2**20)
    names, name = deployment.names, deployment.collection.name
    consumer.assign(
        [TopicPartition(each, 0) for each in (names.answers_of(name, "estimates"), names.provisional(name))]
    )
    await consumer.start()
    await producer.start()
    try:
        producing = asyncio.create_task(_produce(producer, deployment, values, rate))
        seen: list[tuple[float, int]] = []
        async with asyncio.timeout(120 + 2 * len(values) / rate):
            while not seen or seen[-1][1] < total:
                record = await consumer.getone()
                estimate = Estimate.from_bytes(record.value)
                if estimate.estimate == "e0":
                    seen.append((time.perf_counter(), estimate.reports))
        return await producing, seen
    finally:
        await producer.stop()
        await consumer.stop()


async def _produce(
    producer: AIOKafkaProducer, deployment: JointDeployment, values: list[bytes], rate: float
) -> list[tuple[float, int]]:
    """Write at an even rate; return the time of each write, and the reports that are written by then."""
    topic = deployment.names.reports(deployment.collection.name)
    produced: list[tuple[float, int]] = []
    began, written = time.perf_counter(), 0
    sent = []
    for partition in itertools.cycle(range(PARTITIONS)):
        now = time.perf_counter()
        due = len(values) if math.isinf(rate) else min(len(values), round(rate * (now - began)) + 1)
        batch = producer.create_batch()
        while written < due and batch.append(key=None, value=values[written], timestamp=None) is not None:
            written += 1
        if batch.record_count():
            sent.append(await producer.send_batch(batch, topic, partition=partition))
            produced.append((now, written * _REPORTS))
        if written == len(values):
            await asyncio.gather(*sent)
            return produced
        if written >= due:
            await asyncio.sleep(_TICK_SECONDS)
    return produced
