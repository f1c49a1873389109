"""Flood a worker with what hostile clients can send, and say what becomes of it and of its neighbours.

A worker serves three collections that the flood is about, and one whose clients are honest. Everything that is sent
needs no more than the right to write reports.

python -m tests.chaos.flood --seconds 20
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import logging
import os
import re
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.protocol.produce import ProduceRequest
from aiokafka.record.default_records import DefaultRecordBatchBuilder
from rich.console import Console

from stream_ldp.kafka.embedded import EmbeddedKafka
from stream_ldp.pipeline import wire
from stream_ldp.records.answer import Estimate
from stream_ldp.sets.rounds import Round
from tests.chaos.clients import now_ms
from tests.chaos.kinds import answers
from tests.chaos.log import Logs
from tests.kafka.unreadable_batch import append
from tests.service.harness import Deployment, WorkerProcess, batches

#: Memory that deployments give a worker.
LIMIT_BYTES = 2**30

#: Seconds within which a worker has to be ready again, and to have read all, once a flood is over.
RECOVERY_SECONDS = 180.0

#: Finals of the neighbour before a flood, which the others are held against; earlier ones have a start behind them.
CALM_FINALS = 10

#: Seconds within which they have to be there.
CALM_SECONDS = 90.0

#: Seconds from the beginning of a flood for which finals are measured at least.
MEASURED_SECONDS = 20.0

PARTITIONS = 2

_RECORDS = """
collection: {{name}}
mechanism: {{{{kind: rr-ldp, f: 0.25, p: 0.25, q: 0.75}}}}
attributes:
  - {{{{name: bathing, values: [no, yes]}}}}
  - {{{{name: mobility, values: [none, some, full]}}}}
min_reports: 1
window: {{{{size: {size}, grace: 500ms, idle_timeout: {idle}, max_age: 1d}}}}
estimates:
  - {{{{name: bathing-mobility, of: [bathing, mobility], method: lremh, every: 1s}}}}
"""

#: Of honest clients.
NEIGHBOUR = _RECORDS.format(size="1s", idle="2s")
#: Its silent partitions hold windows open.
HELD = _RECORDS.format(size="1s", idle="never")
#: A window takes all that is sent.
LONG = _RECORDS.format(size="1h", idle="2s")
FILMS = """
collection: {name}
mechanism: {{kind: svim, epsilon: 4, k: 4}}
items: {{size: 32}}
every: 1s
min_reports: 1
window: {{size: 5s, grace: 500ms, idle_timeout: 1s, max_age: 1d}}
"""


@dataclass(kw_only=True)
class Flooded:
    """What became of a worker.

    sent: number of records, and of bytes on the wire about.
    up: whether it still ran, and ready: whether it was ready, when it had read all.
    peak_bytes: the most memory that was resident, from the flood on.
    calm, meanwhile: delays of the neighbour's finals behind the end of their windows, in seconds.
    letters: number of dead letters, and their bytes.
    caught_up: seconds after the flood until all was read; None if it was not in time.
    """

    kind: str
    sent: tuple[int, int] = (0, 0)
    up: bool = False
    ready: bool = False
    peak_bytes: int = 0
    calm: list[float] = field(default_factory=list)
    meanwhile: list[float] = field(default_factory=list)
    letters: tuple[int, int] = (0, 0)
    caught_up: float | None = None
    last: str = ""

    @property
    def problems(self) -> list[str]:
        """Say what a flood must not do and has done."""
        found = []
        if not self.up:
            found.append(f"the worker ended: {self.last}")
        elif not self.ready:
            found.append(f"the worker was not ready: {self.last}")
        if self.peak_bytes > LIMIT_BYTES:
            found.append("it took more memory than it has")
        if self.up and self.caught_up is None:
            found.append(f"it had not read all after {RECOVERY_SECONDS:.0f} s")
        if not self.meanwhile:
            found.append("its neighbour had no final")
        return found

    def __str__(self) -> str:
        caught = "-" if self.caught_up is None else f"{self.caught_up:.0f} s later"
        told = "; ".join(self.problems) or "held"
        return (
            f"{self.kind}: {self.sent[0]:,} records in {self.sent[1] / 1e6:.1f} MB; "
            f"peak {self.peak_bytes / 1e6:,.0f} MB; finals of the neighbour {_delays(self.calm)} before and "
            f"{_delays(self.meanwhile)} from then on; all read {caught}; {self.letters[0]:,} dead letters of "
            f"{self.letters[1] / 1e6:.1f} MB: {told}"
        )


def _delays(seconds: list[float]) -> str:
    if not seconds:
        return "never"
    return f"after {np.quantile(seconds, 0.5):.1f} s (p99 {np.quantile(seconds, 0.99):.1f} s)"


class Hostile:
    """A hostile client of the three collections.

    sent: number of records, and of bytes on the wire about.
    """

    def __init__(self, deployments: dict[str, Deployment], *, until: float) -> None:
        """Write for so long, by the monotonic clock, or until there is nothing more of its kind to write."""
        self.records = self.bytes = 0
        self._deployments = deployments
        self._until = until
        self._rng = np.random.default_rng(1)

    async def __aenter__(self) -> Hostile:
        settings = self._deployments["held"].settings
        self._producer = AIOKafkaProducer(
            **settings.client_options(), acks=1, linger_ms=20, max_batch_size=2**18, max_request_size=2**24
        )
        await self._producer.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._producer.stop()

    def _topic(self, name: str) -> str:
        return self._deployments[name].names.reports(name)

    async def _values(
        self, make: Callable[[int], list[bytes]], *, name: str = "held", partition: int | None = None
    ) -> None:
        """Write what is made, chunk after chunk."""
        topic = self._topic(name)
        number = 0
        while time.monotonic() < self._until and (values := make(number)):
            sent = [await self._producer.send(topic, value, partition=partition) for value in values]
            await asyncio.gather(*sent)
            self.records += len(values)
            self.bytes += sum(map(len, values))
            number += 1

    async def _raw(self, values: list[bytes | None], *, codec: int, times: int) -> None:
        """Write one record batch so often, compressed."""
        builder = DefaultRecordBatchBuilder(
            magic=2,
            compression_type=codec,
            is_transactional=0,
            producer_id=-1,
            producer_epoch=-1,
            base_sequence=-1,
            batch_size=2**31 - 1,
        )
        for number, value in enumerate(values):
            builder.append(number, None, None, value, [])
        data = bytes(builder.build())
        topic = self._topic("held")
        await self._producer.partitions_for(topic)
        for number in range(times):
            if time.monotonic() > self._until:
                return
            place = TopicPartition(topic, number % PARTITIONS)
            leader = self._producer.client.cluster.leader_for_partition(place)
            request = ProduceRequest(None, 1, 30_000, [(topic, [(place.partition, data)])])
            response = await self._producer.client.send(leader, request)
            assert response.topics[0][1][0][1] == 0, "the broker refuses it"
            self.records += len(values)
            self.bytes += len(data)

    async def bombs(self) -> None:
        """Compressed batches of half a kilobyte that expand to 15 MB, 120 of them: 70 kB become 1.9 GB."""
        await self._raw([bytes(15 * 2**20)], codec=4, times=120)

    async def wide(self) -> None:
        """Values of 17 MB, between what a batch may expand to and what a producer may write."""
        await self._raw([bytes(17 * 2**20)], codec=4, times=20)

    async def empty(self) -> None:
        """Batches of 50,000 records without a byte."""
        await self._raw([None] * 50_000, codec=4, times=40)

    async def junk(self) -> None:
        """Bytes that are no batch."""
        await self._values(lambda _: [self._rng.bytes(size) for size in self._rng.integers(0, 200, 2_000)])

    async def strangers(self) -> None:
        """Batches under fingerprints that no collection has, each another."""
        await self._values(lambda _: [self._batch("held", now_ms(), made_for=os.urandom(16)) for _ in range(1_000)])

    async def single(self) -> None:
        """Batches of one report each within a window that takes all of them."""
        await self._values(lambda _: [self._batch("long", now_ms()) for _ in range(1_000)], name="long")

    async def windows(self) -> None:
        """Reports to a window each, on one partition, while the other holds all open until the last moment."""
        first = now_ms() - 80_000_000

        def some(number: int) -> list[bytes]:
            begin = number * 500
            return [self._batch("held", first + 1_000 * each) for each in range(begin, min(begin + 500, 17_000))]

        await self._values(some, partition=0)
        for partition in range(PARTITIONS):
            await self._producer.send_and_wait(
                self._topic("held"), self._batch("held", now_ms()), partition=partition
            )

    async def epochs(self) -> None:
        """Answers to the first phase of one epoch after the other."""
        collection: Any = self._deployments["films"].collection
        schedule = collection.schedule
        first = (now_ms() - 80_000_000) // (schedule.size_ms * schedule.stride)

        def some(number: int) -> list[bytes]:
            made = []
            for epoch in range(first + 50 * number, first + min(50 * (number + 1), 5_000)):
                made += answers(collection, Round.first(collection, epoch=epoch), rng=self._rng)[:1]
            return made

        await self._values(some, name="films", partition=0)

    async def headers(self) -> None:
        """Records with a header whose name is not UTF-8, each in a batch of its own."""
        number = 0
        while time.monotonic() < self._until:
            place = TopicPartition(self._topic("held"), number % PARTITIONS)
            values = [self._batch("held", now_ms()) for _ in range(20)]
            await append(self._producer, place, values, spoiled={number % 20})
            self.records += 20
            self.bytes += sum(map(len, values))
            number += 1

    def _batch(self, name: str, time_ms: int, *, made_for: bytes | None = None) -> bytes:
        collection = self._deployments[name].collection
        return wire.encode(
            wire.Batch(
                fingerprint=made_for or collection.fingerprint,
                batch_id=os.urandom(16),
                time_ms=time_ms,
                rows=np.ones((1, 1), dtype=np.uint8),
            )
        )


#: By name, what a hostile client does.
FLOODS = {
    "bombs": Hostile.bombs,
    "wide-values": Hostile.wide,
    "empty-records": Hostile.empty,
    "junk": Hostile.junk,
    "unknown-fingerprints": Hostile.strangers,
    "single-reports": Hostile.single,
    "windows": Hostile.windows,
    "epochs": Hostile.epochs,
    "unreadable-headers": Hostile.headers,
}


async def flood(kind: str, brokers: str, *, directory: Path, seconds: float) -> Flooded:
    """Flood a worker of its own with one kind of records for some seconds, and wait until it has read all.

    brokers: address of a broker, on which topics are made.
    directory: an empty one.
    """
    found = Flooded(kind=kind)
    deployment = await Deployment.create(
        directory, brokers=brokers, prefix=f"flood-{os.urandom(3).hex()}", text=NEIGHBOUR, partitions=PARTITIONS
    )
    honest, deployments = deployment, dict[str, Deployment]()
    for name, text in (("held", HELD), ("long", LONG), ("films", FILMS)):
        deployment = await deployment.beside_another(name=name, text=text, partitions=PARTITIONS)
        deployments[name] = deployment.of_last()
    logs = Logs(brokers)
    finals = honest.names.answers(honest.collection)
    logs.add(finals, partitions=1)
    with deployment.worker() as worker:
        await worker.ready(within=90)
        reporting = asyncio.create_task(_report(honest))
        async with asyncio.timeout(CALM_SECONDS):
            while len(_delays_of(logs, finals)) < 2 * CALM_FINALS:
                await asyncio.sleep(1.0)
                await logs.read()
        found.calm = list(_delays_of(logs, finals).values())[-CALM_FINALS:]
        began_ms, began = now_ms(), time.monotonic()
        # From here on, the kernel counts the most memory anew.
        Path(f"/proc/{worker.process.pid}/clear_refs").write_text("5")
        watching = asyncio.create_task(_watch(worker, found))
        try:
            async with Hostile(deployments, until=began + seconds) as hostile:
                await FLOODS[kind](hostile)
            ended = time.monotonic()
            while time.monotonic() < ended + RECOVERY_SECONDS and worker.process.poll() is None:
                await asyncio.sleep(1.0)
                # What was sent last takes some seconds until the lag is looked at.
                if time.monotonic() > max(ended + 8.0, began + MEASURED_SECONDS) and await _lag(worker) < 50:
                    found.caught_up = time.monotonic() - ended
                    break
            found.up = worker.process.poll() is None
            found.sent = hostile.records, hostile.bytes
            if found.up:
                with contextlib.suppress(TimeoutError, AssertionError):
                    await worker.ready(within=30)
                    found.ready = True
                found.last = "; ".join(await worker.problems())
            else:
                found.last = (worker.log.strip().splitlines() or ["nothing"])[-1][:300]
        finally:
            for task in (reporting, watching):
                task.cancel()
    letters = [deployments[name].names.dead_letters(name) for name in deployments]
    for topic in letters:
        logs.add(topic, partitions=1)
    await logs.read()
    told = [each for topic in letters for each in logs.of(topic)]
    found.letters = len(told), sum(len(each.value) for each in told)
    found.meanwhile = [late for end_ms, late in _delays_of(logs, finals).items() if end_ms >= began_ms]
    return found


def _delays_of(logs: Logs, topic: str) -> dict[int, float]:
    """Return, by the end of each window with a final, after how many seconds the final was on the log."""
    answers = [(each.appended_ms, Estimate.from_bytes(each.value)) for each in logs.of(topic)]
    return {
        answer.window.end_ms: (appended_ms - answer.window.end_ms) / 1_000
        for appended_ms, answer in answers
        if answer.final and answer.reports
    }


async def _report(honest: Deployment) -> None:
    """Let honest clients report at an even rate."""
    rng = np.random.default_rng(2)
    async with AIOKafkaProducer(**honest.settings.client_options()) as producer:
        while True:
            for value in batches(honest.collection, [now_ms()] * 4, reports=5, rng=rng):  # type: ignore[arg-type]
                await producer.send(honest.names.reports("survey"), value)
            await asyncio.sleep(0.1)


async def _watch(worker: WorkerProcess, found: Flooded) -> None:
    """Note the most memory again and again: of a process that has ended, the kernel says nothing more."""
    while True:
        status = Path(f"/proc/{worker.process.pid}/status").read_text()
        if (peak := re.search(r"^VmHWM:\s+(\d+) kB$", status, re.MULTILINE)) is not None:
            found.peak_bytes = max(found.peak_bytes, int(peak[1]) * 1_024)
        await asyncio.sleep(0.1)


async def _lag(worker: WorkerProcess) -> float:
    _, text = await worker.get("/metrics")
    lags = re.findall(r"^stream_ldp_consumer_lag_records\{[^}]*\} (\S+)$", text, re.MULTILINE)
    return sum(map(float, lags)) if lags else float("inf")


def main() -> None:
    """Flood as the command line asks for; the exit status is 1 if a worker did not hold."""
    arguments = argparse.ArgumentParser(prog="python -m tests.chaos.flood", description=__doc__)
    arguments.add_argument("--kind", choices=list(FLOODS), help="only floods of this kind")
    arguments.add_argument("--seconds", type=float, default=20.0, help="of each flood")
    given = arguments.parse_args()
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)
    console = Console(soft_wrap=True, highlight=False, markup=False)
    failed = False
    for kind in [given.kind] if given.kind else FLOODS:
        with EmbeddedKafka() as broker, tempfile.TemporaryDirectory() as directory:
            found = asyncio.run(flood(kind, broker.bootstrap, directory=Path(directory), seconds=given.seconds))
        console.print(str(found))
        failed = failed or bool(found.problems)
    sys.exit(failed)


if __name__ == "__main__":
    main()
