"""Drains of a reports topic that has been filled, on a real Kafka: by a worker, a bare consumer, and Faust agents."""

import asyncio
import itertools
import json
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from aiokafka import AIOKafkaProducer
from prometheus_client.parser import text_string_to_metric_families

from stream_ldp.kafka.embedded import EmbeddedKafka
from stream_ldp.pipeline import wire
from tests.benchmarks.speed.counting import document_of, rows_of
from tests.benchmarks.speed.drains import PARTITIONS
from tests.benchmarks.speed.measuring import compared
from tests.service.harness import Deployment, JointDeployment, WorkerProcess

#: Most records of a stored batch, and most bytes of their values, below the limit of 1 MB.
_STORED, _STORED_BYTES = 1_000, 900_000

#: Seconds between two looks at a worker's metrics, each of which takes it 2 ms.
_LOOK_SECONDS = 0.1

#: Seconds between two questions to /livez.
_ASK_SECONDS = 0.005

#: Seconds that a drain may take.
_PATIENCE_SECONDS = 120.0


@dataclass(frozen=True, kw_only=True)
class Topic:
    """A topic to drain.

    sizes: those of the attributes.
    reports: their number in a record.
    records: so many that a worker drains them for five seconds at least: in the first of them, it gets its
        partitions, and solves for the first time.
    every_pair: whether all pairs are estimates, and not five.
    """

    sizes: tuple[int, ...] = (2,) * 16
    reports: int
    records: int
    every_pair: bool = False
    partitions: int = PARTITIONS

    @property
    def binary(self) -> bool:
        """Whether a Faust agent counts it as well."""
        return max(self.sizes) == 2

    @property
    def document(self) -> dict[str, Any]:
        """The document of its collection."""
        return document_of(self.sizes, window="1h", every_pair=self.every_pair)

    def __str__(self) -> str:
        values = "" if self.binary else f" of {len(self.sizes)} x {self.sizes[0]} values"
        pairs = len(self.document["estimates"])
        partitions = "" if self.partitions == PARTITIONS else f" on {self.partitions} partitions"
        return f"batches of {self.reports}{values}, {pairs} pairs{partitions}"


TOPICS = (
    Topic(reports=50, records=1_400_000),
    Topic(reports=1, records=3_000_000),
    Topic(reports=500, records=250_000),
    Topic(sizes=(8,) * 8, reports=50, records=1_200_000),
    Topic(sizes=(8,) * 8, reports=50, records=600_000, every_pair=True, partitions=16),
)

#: Share of the reports before which a drain is not measured, and number of records that are encoded at a time.
_BEFORE, _ENCODED = 0.2, 200_000

#: Different reports, which records have in turn: as many as fill the tables, and the caches, of real ones.
_DIFFERENT = 100_000


class GroupedWorker(WorkerProcess):
    """A worker process in a group of its own, which begins at the beginning of the topic."""

    def __init__(self, deployment: Deployment, *, group: str | None = None) -> None:
        group = group or f"group-{uuid.uuid4().hex[:12]}"
        super().__init__(deployment, ["-m", "stream_ldp"], options=("--group", group))

    def metrics(self) -> dict[str, float]:
        """Return all values, summed over their labels; none while nobody answers."""
        values: dict[str, float] = {}
        for family in text_string_to_metric_families(self._get("/metrics")[1]):
            for sample in family.samples:
                values[sample.name] = values.get(sample.name, 0.0) + sample.value
        return values


def rows(scale: float, rounds: int) -> Iterator[dict[str, Any]]:
    """Measure with `scale` times as many records as are meant, in turns, and yield rows of the table.

    Raises:
        MissingTool: there is no Java or Maven, and so no Kafka.
    """
    with EmbeddedKafka() as kafka, tempfile.TemporaryDirectory() as directory:
        for place, topic in enumerate(TOPICS):
            some = replace(topic, records=round(scale * topic.records))
            (Path(directory) / str(place)).mkdir()
            deployment = asyncio.run(made(Path(directory) / str(place), kafka.bootstrap, some))
            yield from _compared(deployment, some, rounds, log=kafka.data / "log")


def _compared(deployment: Deployment, drain: Topic, rounds: int, *, log: Path) -> Iterator[dict[str, Any]]:
    """Compare a worker with its peers.

    log: the directory in which the broker keeps all topics.
    """
    records, reports = drain.records, drain.reports
    topic = deployment.names.reports(deployment.collection.name)

    def other(how: str, records: int) -> Callable[[], dict[str, float]]:
        command = [sys.executable, "-m", "tests.benchmarks.speed.drains", how, deployment.settings.brokers, topic]
        return lambda: json.loads(subprocess.run([*command, str(records)], check=True, capture_output=True).stdout)

    ways = {
        "now": lambda: drained(deployment, records * reports, reports, log=log),
        "bare aiokafka getmany": other("bare", records),
        "Faust agent that sums lengths": other("summing-agent", max(1, records // 25)),
    }
    if drain.binary:
        ways["Faust agent that counts"] = other("counting-agent", max(1, records // 50))
    found: dict[str, list[dict[str, float]]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            found[name].append(way())
    for clock, named in (("processor", "processor's time"), ("seconds", "by the clock on the wall")):
        times = {name: [1e6 * each[clock] / each["records"] for each in runs] for name, runs in found.items()}
        yield {
            "work": f"a whole worker that drains {drain}, {named}",
            "unit": "us a batch",
            **compared(times.pop("now"), times),
        }
    sent = [each["sent"] / each["seconds"] / 1e6 for each in found["now"]]
    yield {
        "work": f"partials that a worker sends while it drains {drain}",
        "unit": "MB a second",
        **compared(sent, {}),
    }
    answers = [answered(deployment, records * reports) for _ in range(rounds)]
    yield {
        "work": f"/livez of a worker that drains {drain}, p99",
        "unit": "ms",
        **compared([busy for busy, _ in answers], {"the same worker idle": [idle for _, idle in answers]}),
    }


async def made(directory: Path, bootstrap: str, topic: Topic) -> JointDeployment:
    """Create a deployment, and fill its reports topic."""
    deployment = await deployed(directory, bootstrap, topic.document, partitions=topic.partitions)
    for first in range(0, topic.records, _ENCODED):
        some = min(_ENCODED, topic.records - first)
        values = encoded(deployment, some, reports=topic.reports, first=first)
        await fill(deployment, values, partitions=topic.partitions)
    return deployment


async def deployed(
    directory: Path, bootstrap: str, document: dict[str, Any], *, partitions: int = PARTITIONS
) -> JointDeployment:
    """Create a deployment of the collection of a document."""
    text = json.dumps(document)  # which is YAML
    return await JointDeployment.create(
        directory,
        brokers=bootstrap,
        prefix=f"bench-{uuid.uuid4().hex[:12]}",
        text=text.replace("{", "{{").replace("}", "}}"),
        partitions=partitions,
    )


def encoded(deployment: JointDeployment, records: int, *, reports: int, first: int = 0) -> list[bytes]:
    """Encode so many batches of this moment, whose ids are numbers from `first` on."""
    collection, time_ms = deployment.collection, time.time_ns() // 1_000_000
    rows = rows_of(collection, _DIFFERENT // reports * reports)
    in_turn = np.split(rows, len(rows) // reports)
    return [
        wire.encode(
            wire.Batch(
                fingerprint=collection.fingerprint,
                batch_id=number.to_bytes(16, "little"),
                time_ms=time_ms,
                rows=in_turn[number % len(in_turn)],
            )
        )
        for number in range(first, first + records)
    ]


async def fill(deployment: JointDeployment, values: Sequence[bytes], *, partitions: int = PARTITIONS) -> None:
    """Write records to the partitions of the reports topic in turn."""
    topic = deployment.names.reports(deployment.collection.name)
    producer = AIOKafkaProducer(**deployment.settings.client_options(), acks="all", max_batch_size=2**20)
    await producer.start()
    try:
        stored = min(_STORED, max(1, _STORED_BYTES // max(map(len, values), default=1)))
        for partition, begin in zip(itertools.cycle(range(partitions)), range(0, len(values), stored), strict=False):
            batch = producer.create_batch()
            for value in values[begin : begin + stored]:
                batch.append(key=None, value=value, timestamp=None)
            await (await producer.send_batch(batch, topic, partition=partition))
    finally:
        await producer.stop()


def drained(deployment: Deployment, total: int, reports: int, *, log: Path | None = None) -> dict[str, float]:
    """Drain by a worker; measured from the first look that finds enough of it counted to the last before the end.

    log: the directory in which the broker keeps all topics, to measure the bytes of partials.
    """
    looks: list[tuple[float, float, float, int]] = []
    partials = deployment.names.partials

    def look(now: float, values: tuple[float, float]) -> None:
        if values[0] > _BEFORE * total:
            sent = sum(file.stat().st_size for file in log.glob(f"{partials}-*/*.log")) if log else 0
            looks.append((now, *values, sent))

    with GroupedWorker(deployment) as worker:
        _watch(worker, total, look)
    # The last look is at the end, which may have been long before: it counts only where there is no other.
    *looks, end = looks
    (began, first, worked, had), (ended, last, works, has) = (
        (looks[0], looks[-1]) if len(looks) > 1 else ((0.0, 0.0, 0.0, 0), end)
    )
    return {
        "records": (last - first) / reports,
        "seconds": ended - began,
        "processor": works - worked,
        "sent": has - had,
    }


def answered(deployment: Deployment, total: int) -> tuple[float, float]:
    """Return the milliseconds within which /livez answers 99 of 100 times, while a worker drains and afterwards."""
    with GroupedWorker(deployment) as worker, ThreadPoolExecutor(max_workers=1) as aside:
        done = threading.Event()
        while not worker.metrics().get("stream_ldp_reports_counted_total"):
            time.sleep(_LOOK_SECONDS)
        busy = aside.submit(_ask, worker, done.is_set)
        try:
            _watch(worker, total, lambda *_: None)
        finally:
            done.set()
        asked = len(busy.result())
        rest = iter(range(asked))
        return _p99(busy.result()), _p99(_ask(worker, lambda: next(rest, None) is None))


def _ask(worker: GroupedWorker, done: Callable[[], bool]) -> list[float]:
    """Return the milliseconds of every answer of /livez, at least one."""
    took: list[float] = []
    while not (took and done()):
        began = time.perf_counter()
        worker._get("/livez")
        took.append(1_000 * (time.perf_counter() - began))
        time.sleep(_ASK_SECONDS)
    return took


def _p99(took: Sequence[float]) -> float:
    return sorted(took)[len(took) * 99 // 100]


def _watch(worker: GroupedWorker, total: int, look: Callable[[float, tuple[float, float]], object]) -> None:
    """Look at the reports counted and the processor's time while a worker drains, and at the end."""
    deadline = time.perf_counter() + _PATIENCE_SECONDS
    values: tuple[float, float] = (0.0, 0.0)
    while values[0] < total:
        if time.perf_counter() > deadline:
            raise TimeoutError(f"{values[0]:g} of {total} reports are counted: {worker.log}")
        metrics = worker.metrics()
        now = time.perf_counter()
        values = metrics.get("stream_ldp_reports_counted_total", 0.0), metrics.get("process_cpu_seconds_total", 0.0)
        if values[0]:
            look(now, values)
        time.sleep(_LOOK_SECONDS)
