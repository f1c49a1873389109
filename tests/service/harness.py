"""Run workers as processes, compute naively what they must publish, and read the log back."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRecord, TopicPartition

from stream_ldp.collection import Collection
from stream_ldp.kafka.cluster import Cluster
from stream_ldp.kafka.registry import Registration, register
from stream_ldp.kafka.settings import Settings
from stream_ldp.kafka.topics import TopicNames, topic_specs
from stream_ldp.kinds import load_collection, solve
from stream_ldp.pipeline import wire
from stream_ldp.pipeline.statistics import RowCounts
from stream_ldp.pipeline.window_task import WindowTask
from stream_ldp.pipeline.windows import pane_of, windows_of
from stream_ldp.records.answer import Estimate
from stream_ldp.records.collection import JointCollection
from stream_ldp.records.layout import JointLayout
from tests.forked import Forked

#: Its method needs the fewest libraries, so that a worker starts in half the time.
SURVEY = """
collection: {name}
min_reports: 1
mechanism: {{kind: rr-ldp, f: 0.25, p: 0.25, q: 0.75}}
attributes:
  - {{name: bathing, values: [no, yes]}}
  - {{name: mobility, values: [none, some, full]}}
window: {{size: 2s, grace: 1s, idle_timeout: 2s}}
estimates:
  - {{name: bathing-mobility, of: [bathing, mobility], method: em, every: 500ms}}
"""

#: So few that most of them come back in every window.
_LINKED_USERS = 20

BROKEN_WORKERS = Path(__file__).with_name("broken_worker.py")
OPEN_WORKER = Path(__file__).with_name("open_worker.py")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass(kw_only=True)
class Deployment:
    """A deployment of one collection on one broker, under topics of its own."""

    directory: Path
    settings: Settings
    file: Path
    collection: Collection
    partitions: dict[str, int]
    #: Files of other collections, which workers serve beside this one.
    others: tuple[Path, ...] = ()
    #: Whether workers are given no file, and follow the registry.
    follows: bool = False

    @classmethod
    async def create(
        cls,
        directory: Path,
        *,
        brokers: str,
        prefix: str,
        name: str = "survey",
        text: str = SURVEY,
        partitions: int = 4,
        replication: int = 1,
    ) -> Self:
        file = directory / f"{name}.yaml"
        file.write_text(text.format(name=name), encoding="utf-8")
        settings = Settings.load(brokers=brokers, topic_prefix=prefix)
        collection = load_collection(file)
        specs = topic_specs(
            [collection],
            prefix=prefix,
            reports_partitions=partitions,
            partials_partitions=settings.partials_partitions,
        )
        async with Cluster.connect(settings) as cluster:
            await cluster.create(specs, replication=replication)
        await register(settings, [Registration.of(collection)])
        return cls(
            directory=directory,
            settings=settings,
            file=file,
            collection=collection,
            partitions={spec.name: spec.partitions for spec in specs},
        )

    @property
    def names(self) -> TopicNames:
        return self.settings.topic_names

    def of_last(self) -> Self:
        """Return the deployment of the collection that was added last, whose topics are then those that are read."""
        return replace(self, file=self.others[-1], others=(), collection=load_collection(self.others[-1]))

    async def beside_another(
        self, *, name: str = "another", text: str = SURVEY, partitions: int | None = None, replication: int = 1
    ) -> Self:
        """Add a collection, and return the deployment of workers that serve it beside those before."""
        file = self.directory / f"{name}.yaml"
        file.write_text(text.format(name=name), encoding="utf-8")
        collection, settings = load_collection(file), self.settings
        specs = topic_specs(
            [collection],
            prefix=settings.topic_prefix,
            reports_partitions=partitions,
            partials_partitions=settings.partials_partitions,
        )
        async with Cluster.connect(settings) as cluster:
            await cluster.create(specs, replication=replication)
        await register(settings, [Registration.of(collection)])
        partitions_of = {spec.name: spec.partitions for spec in specs}
        return replace(self, others=(*self.others, file), partitions=self.partitions | partitions_of)

    @property
    def files(self) -> tuple[Path, ...]:
        """Files of all collections that workers serve."""
        return self.file, *self.others

    def worker(
        self,
        *,
        broken: str | None = None,
        program: Path | None = None,
        environment: Mapping[str, str] | None = None,
        fresh: bool = False,
    ) -> WorkerProcess:
        """Make a worker of this collection.

        broken: the rule that it breaks.
        program: the script to run in place of the package's own command line.
        environment: variables beside those of this process.
        fresh: whether it is not forked from a process that has the package loaded.
        """
        command = ["-m", "stream_ldp"]
        if broken is not None:
            command = [str(BROKEN_WORKERS), broken]
        elif program is not None:
            command = [str(program)]
        return WorkerProcess(self, command, environment=environment, fresh=fresh)

    async def records(self, topic: str) -> list[ConsumerRecord]:
        """Return all that a topic holds now."""
        consumer = AIOKafkaConsumer(
            **self.settings.client_options(), enable_auto_commit=False, isolation_level="read_committed"
        )
        await consumer.start()
        try:
            partitions = [TopicPartition(topic, number) for number in range(self.partitions[topic])]
            consumer.assign(partitions)
            await consumer.seek_to_beginning(*partitions)
            ends = await consumer.end_offsets(partitions)
            found: list[ConsumerRecord] = []
            for partition in partitions:
                while await consumer.position(partition) < ends[partition]:
                    for records in (await consumer.getmany(timeout_ms=200)).values():
                        found += records
            return found
        finally:
            await consumer.stop()

    async def send(
        self,
        values: Iterable[bytes],
        *,
        topic: str | None = None,
        key: bytes | None = None,
        partition: int | None = None,
    ) -> None:
        """Write raw records, to the reports topic and with random keys unless told otherwise."""
        topic = topic or self.names.reports(self.collection.name)
        producer = AIOKafkaProducer(**self.settings.client_options(), acks="all", enable_idempotence=True)
        await producer.start()
        try:
            await asyncio.gather(
                *[
                    await producer.send(topic, value, key=key or os.urandom(8), partition=partition)
                    for value in values
                ]
            )
        finally:
            await producer.stop()


class JointDeployment(Deployment):
    """A deployment of one collection of records."""

    collection: JointCollection

    async def finals(self) -> list[Estimate]:
        """Return the final estimates on the log, in its order."""
        finals = []
        for record in await self.records(self.names.answers_of(self.collection.name, "estimates")):
            with suppress(ValueError):  # A test may write what is no estimate.
                finals.append(Estimate.from_bytes(record.value or b""))
        return [estimate for estimate in finals if estimate.final]

    async def finals_of(self, reports: int, *, within: float = 90.0) -> list[Estimate]:
        """Wait until the final estimates of each series hold this many reports, and return them as they are then.

        That nobody reported in a window is told by a final too, sooner or later: those are left out.
        """
        async with asyncio.timeout(within):
            while True:
                finals = [estimate for estimate in await self.finals() if estimate.reports]
                distinct = {(each.estimate, each.window.start_ms): each.reports for each in finals}
                totals: dict[str, int] = defaultdict(int)
                for (name, _), counted in distinct.items():
                    totals[name] += counted
                if len(totals) == len(self.collection.estimates) and min(totals.values()) >= reports:
                    return finals
                await asyncio.sleep(0.5)

    async def expected(self) -> dict[int, RowCounts]:
        """Count the rows of every window by loops over the reports topic: good batches, each id once.

        This is valid where nothing is late, which the tests see to.
        """
        of = self.collection.estimates[0].of
        columns, bits = self.collection.bits_of(of), self.collection.mechanism.bits
        seen: set[bytes] = set()
        windows: dict[int, list[np.ndarray[Any, np.dtype[np.uint8]]]] = defaultdict(list)
        for record in await self.records(self.names.reports(self.collection.name)):
            decoded = wire.decode([record.value], formats={self.collection.fingerprint: JointLayout(self.collection)})
            if len(decoded.accepted) and decoded.batch_ids[0] not in seen:
                seen.add(decoded.batch_ids[0])
                rows = np.unpackbits(decoded.rows[0], axis=1, count=bits, bitorder="little")[:, columns]
                pane = pane_of(int(decoded.time_ms[0]), self.collection.window)
                for window in windows_of(pane, self.collection.window):
                    windows[window].append(np.packbits(rows, axis=1, bitorder="little"))
        return {
            window: RowCounts.of(np.concatenate(rows), bits=len(columns)) for window, rows in sorted(windows.items())
        }

    async def offline(self) -> list[Estimate]:
        """Compute the finals as the same estimator gives them without a stream: from the reports, one by one."""
        before = None
        answers = []
        for window, counts in (await self.expected()).items():
            task: WindowTask[Any, Any] = WindowTask(
                series=self.collection.estimates[0],
                window_ms=window,
                final=True,
                windows=((1.0, (counts,)),),
                before=before,
            )
            before = solve(self.collection, task)
            assert isinstance(before, Estimate)
            answers.append(before)
        return answers


class ServiceProcess:
    """A process of the command line, with the pages that it serves.

    expected: the exit code that it must end with; None while it must not end.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        log: Path,
        port: int,
        environment: Mapping[str, str] | None = None,
        fresh: bool = False,
    ) -> None:
        """Start it; what it says goes to the end of a file.

        environment: variables beside those of this process.
        fresh: whether it is not forked from a process that has the package loaded.
        """
        self.expected: int | None = None
        self.port = port
        self._log = log
        variables = {**os.environ, **(environment or {})}
        self.process: Forked | subprocess.Popen[bytes]
        if fresh:
            # Without the folder of a script, which may have modules of the names of Python's own.
            whole = [sys.executable, *(() if command[0] == "-m" else ("-P",)), *command]
            with log.open("ab") as output:
                self.process = subprocess.Popen(whole, stdout=output, stderr=subprocess.STDOUT, env=variables)
        else:
            self.process = Forked(command, output=log, environment=variables)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
        self.process.wait()

    @property
    def log(self) -> str:
        return self._log.read_text(encoding="utf-8", errors="replace")

    async def ready(self, *, within: float = 60.0) -> None:
        """Wait until /readyz says that it is ready.

        Raises:
            AssertionError: it has ended.
            TimeoutError: it is not, within so many seconds.
        """
        async with asyncio.timeout(within):
            while (await self.get("/readyz"))[0] != 200:
                if self.process.poll() is not None:
                    raise AssertionError(f"it ended with {self.process.returncode}:\n{self.log}")
                await asyncio.sleep(0.1)

    async def get(self, page: str) -> tuple[int, str]:
        """Return the status and the body of a page; the status is 0 where nobody answers."""
        return await asyncio.to_thread(self._get, page)

    def _get(self, page: str) -> tuple[int, str]:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{page}", timeout=5) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except OSError:
            return 0, ""

    async def problems(self) -> list[str]:
        """Return the problems that /readyz lists."""
        status, body = await self.get("/readyz")
        return list(json.loads(body)["problems"]) if status else ["not there"]

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    async def ended(self, *, within: float = 40.0) -> int:
        """Wait for its end, and return the exit code."""
        return await asyncio.to_thread(self.process.wait, within)


class WorkerProcess(ServiceProcess):
    """A process of `stream-ldp worker`, as an operator runs it."""

    def __init__(
        self,
        deployment: Deployment,
        program: Sequence[str],
        *,
        environment: Mapping[str, str] | None = None,
        options: Sequence[str] = (),
        fresh: bool = False,
    ) -> None:
        port = free_port()
        super().__init__(
            [
                *program,
                "worker",
                *map(str, () if deployment.follows else deployment.files),
                *("--brokers", deployment.settings.brokers),
                *("--topic-prefix", deployment.settings.topic_prefix),
                *("--admin-port", str(port)),
                *options,
            ],
            log=deployment.directory / f"worker-{port}.log",
            port=port,
            environment=environment,
            fresh=fresh,
        )


def batches(
    collection: JointCollection, times_ms: Sequence[int], *, reports: int, rng: np.random.Generator
) -> list[bytes]:
    """Make one good batch of random reports for each event time; where they are linked, they are of a few users."""
    bits = rng.integers(2, size=(len(times_ms), reports, collection.mechanism.bits), dtype=np.uint8)
    rows = np.packbits(bits, axis=2, bitorder="little")
    if collection.links_reports:
        names = rng.integers(_LINKED_USERS, size=(len(times_ms), reports, 1)).astype("<u8").view(np.uint8)
        rows = np.concatenate([names, rows], axis=2)
    return [
        wire.encode(
            wire.Batch(fingerprint=collection.fingerprint, batch_id=os.urandom(16), time_ms=time_ms, rows=rows[i])
        )
        for i, time_ms in enumerate(times_ms)
    ]
