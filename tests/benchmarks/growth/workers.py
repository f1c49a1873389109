"""The processor's time of several workers, which share a topic on a real Kafka."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from stream_ldp.kafka.embedded import EmbeddedKafka
from tests.benchmarks.growth.curves import Curve
from tests.benchmarks.speed.counting import document_of
from tests.benchmarks.speed.draining import GroupedWorker, deployed, encoded, fill

_REPORTS = 50

#: Seconds that counting may take.
_PATIENCE_SECONDS = 120.0


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


def _sum(workers: list[GroupedWorker], name: str) -> float:
    return sum(worker.metrics().get(name, 0.0) for worker in workers)


CURVES = (
    Curve(against="workers that share 4 partitions", cost="us a batch of 50, whole workers", points=_of_workers),
)
