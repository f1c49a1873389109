"""This module plays one schedule: workers as processes, clients, the faults at their times; then it checks all."""

from __future__ import annotations

import asyncio
import itertools
import os
import random
import signal
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.admin.records_to_delete import RecordsToDelete
from aiokafka.errors import KafkaError

from stream_ldp.kinds import kind_of
from stream_ldp.pipeline.source_checkpoint import Checkpoint
from stream_ldp.service.dead_letters import DeadLetter
from tests.chaos.checks import differences_of_finals, differences_of_letters, late_places
from tests.chaos.kinds import KINDS
from tests.chaos.oracle import Expected, LoggedBatch, Lost, expect
from tests.chaos.schedule import Event, Fault, Schedule
from tests.service.harness import Deployment, WorkerProcess

if TYPE_CHECKING:
    from pathlib import Path

    from stream_ldp.kafka.embedded import EmbeddedKafka
    from stream_ldp.pipeline.rejection import Reason
    from tests.chaos.stages import Stage

__all__ = ["Outcome", "play"]

PARTITIONS = 4

_WINDOWS = {
    "tumbling": {"size": "1s", "more": "ahead: 5s", "period": ""},
    "hop": {"size": "2s", "more": "hop: 500ms", "period": ""},
    "memory": {"size": "1s", "more": "memory: 0.5", "period": ""},
    "learning": {"size": "1s", "more": "ahead: 5s, returning: 0", "period": ""},
    "linked": {"size": "1s", "more": "ahead: 5s", "period": "linked: 4s\n"},
}

#: Seconds between two looks of the clients at what there is to send.
TICK_SECONDS = 0.05

#: Seconds within which all finals have to be there once the faults are over: a rebalance, a group's new coordinator
#: and the read of the open windows, on a busy machine.
SETTLE_SECONDS = 90.0


@dataclass(kw_only=True)
class Outcome:
    """What came of one run.

    problems: everything that was not as it had to be.
    """

    schedule: Schedule
    batches: int = 0
    reports: int = 0
    finals: int = 0
    letters: int = 0
    seconds: float = 0.0
    problems: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        what = f"{self.batches} batches, {self.reports} reports, {self.finals} finals, {self.letters} dead letters"
        state = "; ".join(self.problems[:6]) if self.problems else "exact"
        return f"{self.schedule}: {what}, {self.seconds:.0f} s: {state}"


async def play(schedule: Schedule, stage: Stage, *, directory: Path, broken: str | None = None) -> Outcome:
    """Play a schedule on a stage, and compare what was published with what had to be.

    directory: an empty one, for the workers' logs.
    broken: the rule of the design that the workers break, for a control.
    """
    began = time.monotonic()
    async with AsyncExitStack() as stack:
        run = _Run(schedule, stage, broken=broken)
        stack.push_async_callback(run.end)
        await run.prepare(directory)
        for _ in range(schedule.workers):
            run.hire()
        await run.crew[0].ready(within=60)
        await run.act()
        await run.settle()
        outcome = await run.verdict()
    outcome.seconds = time.monotonic() - began
    return outcome


class _Run:
    def __init__(self, schedule: Schedule, stage: Stage, *, broken: str | None) -> None:
        self.schedule, self.stage = schedule, stage
        self.crew: list[WorkerProcess] = []
        self._broken = broken
        self._paused: set[WorkerProcess] = set()
        self._environment = dict(stage.environment)
        self._problems: list[str] = []
        self._lost: dict[int, Lost] = {}
        self._mirror: dict[tuple[int, int], LoggedBatch] = {}
        self._rng = random.Random(schedule.seed)
        self._acts: dict[Fault, Callable[[Event], Awaitable[None]]] = {
            Fault.KILL: self._kill,
            Fault.PAUSE: self._pause,
            Fault.TERMINATE: self._terminate,
            Fault.JOIN: self._join,
            Fault.BROKER_KILL: self._broker_kill,
            Fault.BROKER_STOP: self._broker_stop,
            Fault.BROKER_FREEZE: self._broker_freeze,
            Fault.DELAY: self._delay,
            Fault.CUT: self._cut,
            Fault.HALF_CLOSE: self._half_close,
            Fault.SILENCE: self._silence,
            Fault.RETENTION: self._retention,
            Fault.DISK_FULL: self._disk_full,
            Fault.CLOCK_AHEAD: self._clock,
            Fault.CLOCK_BACK: self._clock,
        }

    async def prepare(self, directory: Path) -> None:
        """Create the topics of a collection of this run's own."""
        idle = "1500ms" if self.schedule.idle else "never"
        self.deployment = await Deployment.create(
            directory,
            brokers=self.stage.address,
            prefix=f"chaos-{self.schedule.seed}-{os.urandom(3).hex()}",
            text=KINDS[self.schedule.kind].text.format(idle=idle, **_WINDOWS[self.schedule.window]),
            partitions=PARTITIONS,
            replication=min(3, len(self.stage.brokers)),
        )
        through = self.stage.workers_address or self.stage.address
        settings = self.deployment.settings.model_copy(update={"brokers": through})
        served = (
            [self.deployment, await self.deployment.beside_another()] if self.schedule.two_sets else [self.deployment]
        )
        self._served = itertools.cycle([replace(each, settings=settings) for each in served])

    def hire(self) -> WorkerProcess:
        """Start one worker more."""
        worker = next(self._served).worker(broken=self._broken, environment=self._environment)
        self.crew.append(worker)
        return worker

    async def end(self) -> None:
        """Leave nothing of this run."""
        for worker in self.crew:
            worker.__exit__()
        await self.stage.whole()

    # The clients and the faults.

    async def act(self) -> None:
        """Send reports and let the faults happen, until the last window of the traffic can close."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._report())
            for event in self.schedule.events:
                group.create_task(self._happen(event))

    async def _happen(self, event: Event) -> None:
        await asyncio.sleep(event.at)
        await self._acts[event.fault](event)

    async def _report(self) -> None:
        """Send batches at an even rate: good ones and repeats, late ones, ones out of order, and broken ones."""
        collection, rng = self.deployment.collection, np.random.default_rng(self.schedule.seed)
        batches = KINDS[self.schedule.kind].batches
        topic = self.deployment.names.reports(collection.name)
        window = collection.window
        producer = AIOKafkaProducer(**self.deployment.settings.client_options(), acks="all", linger_ms=5)
        await producer.start()
        waiting: list[asyncio.Task[None]] = []

        async def send(value: bytes, partition: int) -> None:
            while True:
                with suppress(KafkaError):
                    await producer.send_and_wait(topic, value, partition=partition)
                    return
                await asyncio.sleep(0.2)

        try:
            began = time.monotonic()
            for tick in itertools.count():
                elapsed = time.monotonic() - began
                if elapsed > self.schedule.seconds:
                    break
                now = _now_ms()
                # In a run with idle partitions, one of them falls silent.
                open_to = PARTITIONS - 1 if self.schedule.idle and elapsed > self.schedule.seconds / 3 else PARTITIONS
                times = [now - self._rng.choice((0, 0, 0, 0, 0, 200, 700, 3_000)) for _ in range(6)]
                if self._rng.random() < 0.02:
                    times.append(now + 3_600_000)
                for value in batches(collection, times, reports=self._rng.randint(1, 9), rng=rng):
                    partition = self._rng.randrange(open_to)
                    waiting += [asyncio.create_task(send(copy, partition)) for copy in self._copies(value)]
                await asyncio.sleep(max(0.0, began + (tick + 1) * TICK_SECONDS - time.monotonic()))
            await asyncio.gather(*waiting)
            # One batch more for each partition closes all windows before it.
            await asyncio.sleep((window.size_ms + window.grace_ms + window.pane_ms) / 1_000)
            closing = batches(collection, [_now_ms()] * PARTITIONS, reports=1, rng=rng)
            partitions = range(PARTITIONS - 1 if self.schedule.idle else PARTITIONS)
            await asyncio.gather(*[send(closing[partition], partition) for partition in partitions])
        finally:
            for task in waiting:
                task.cancel()
            await producer.stop()

    def _copies(self, value: bytes) -> list[bytes]:
        chance = self._rng.random()
        if chance < 0.05:
            return [value, value]
        if chance < 0.08:
            place = self._rng.randrange(len(value))
            return [value[:place] + bytes([value[place] ^ (1 << self._rng.randrange(8))]) + value[place + 1 :]]
        if chance < 0.09:
            return [value[: self._rng.randrange(len(value))]]
        return [value]

    def _victim(self, event: Event) -> WorkerProcess | None:
        running = [each for each in self.crew if each not in self._paused and each.expected is None]
        return running[event.target % len(running)] if running else None

    async def _kill(self, event: Event) -> None:
        if (worker := self._victim(event)) is not None:
            await self._dismiss(worker, signal.SIGKILL, code=-9)
            await asyncio.sleep(event.seconds)
            self.hire()

    async def _terminate(self, event: Event) -> None:
        if (worker := self._victim(event)) is not None:
            await self._dismiss(worker, signal.SIGTERM, code=0)
            await asyncio.sleep(event.seconds)
            self.hire()

    async def _dismiss(self, worker: WorkerProcess, how: signal.Signals, *, code: int) -> None:
        if worker.process.poll() is None:
            worker.expected = code
        worker.signal(how)
        with suppress(TimeoutError):
            await worker.ended(within=30)

    async def _pause(self, event: Event) -> None:
        if (worker := self._victim(event)) is not None:
            self._paused.add(worker)
            worker.signal(signal.SIGSTOP)
            await asyncio.sleep(event.seconds)
            worker.signal(signal.SIGCONT)
            self._paused.discard(worker)

    async def _join(self, event: Event) -> None:
        self.hire()

    def _broker(self, event: Event) -> EmbeddedKafka:
        return self.stage.brokers[event.target % len(self.stage.brokers)]

    async def _broker_kill(self, event: Event) -> None:
        async with self.stage.lock:
            await asyncio.to_thread(self._broker(event).kill)
            await asyncio.sleep(event.seconds)
            await asyncio.to_thread(self._broker(event).start)

    async def _broker_stop(self, event: Event) -> None:
        async with self.stage.lock:
            await asyncio.to_thread(self._broker(event).stop)
            await asyncio.sleep(event.seconds)
            await asyncio.to_thread(self._broker(event).start)

    async def _broker_freeze(self, event: Event) -> None:
        async with self.stage.lock:
            self._broker(event).signal(signal.SIGSTOP)
            await asyncio.sleep(event.seconds)
            self._broker(event).signal(signal.SIGCONT)

    async def _delay(self, event: Event) -> None:
        assert self.stage.proxy is not None
        self.stage.proxy.delay = 0.1 + 0.1 * (event.target % 5)
        await asyncio.sleep(event.seconds)
        self.stage.proxy.delay = 0.0

    async def _cut(self, event: Event) -> None:
        assert self.stage.proxy is not None
        self.stage.proxy.refusing = True
        self.stage.proxy.cut()
        await asyncio.sleep(event.seconds)
        self.stage.proxy.refusing = False

    async def _half_close(self, event: Event) -> None:
        assert self.stage.proxy is not None
        self.stage.proxy.half_close()

    async def _silence(self, event: Event) -> None:
        assert self.stage.proxy is not None
        self.stage.proxy.silence()

    async def _clock(self, event: Event) -> None:
        self.stage.set_clock(3_600 if event.fault is Fault.CLOCK_AHEAD else -3_600)
        await asyncio.sleep(event.seconds)
        self.stage.set_clock(0)

    async def _disk_full(self, event: Event) -> None:
        assert self.stage.disk is not None
        ballast = self.stage.disk / "ballast"
        async with self.stage.lock:
            await asyncio.to_thread(_fill, ballast)
            (broker,) = self.stage.brokers
            with suppress(TimeoutError):
                # It ends by itself with the first write that fails, and frozen clients make none.
                await asyncio.wait_for(asyncio.to_thread(broker.wait), 10)
            await asyncio.sleep(event.seconds)
            ballast.unlink()
            await asyncio.to_thread(broker.restart)

    async def _retention(self, event: Event) -> None:
        """Delete reports that nobody has read: a worker must refuse to go on, unless it may."""
        collection = self.deployment.collection
        for worker in [each for each in self.crew if each.expected is None]:
            await self._dismiss(worker, signal.SIGKILL, code=-9)
        await asyncio.sleep(event.seconds)
        partition = TopicPartition(self.deployment.names.reports(collection.name), event.target % PARTITIONS)
        admin = AIOKafkaAdminClient(**self.deployment.settings.client_options())
        await admin.start()
        try:
            group = self.deployment.settings.group_names.ingest(collection.name)
            commit = (await admin.list_consumer_group_offsets(group, partitions=[partition]))[partition]
            checkpoint = Checkpoint.parse(commit.offset, commit.metadata)
            log = await self._log()
            end = max(each.offset for each in log if each.partition == partition.partition) + 1
            before = (checkpoint.position + end + 1) // 2
            await admin.delete_records({partition: RecordsToDelete(before)})
        finally:
            await admin.close()
        self._lost[partition.partition] = Lost(
            first=checkpoint.offset,
            end=before,
            read_to=checkpoint.position,
            watermark_ms=-(2**63) if checkpoint.watermark_ms is None else checkpoint.watermark_ms,
        )
        refusing = self.hire()
        refusing.expected = 1
        try:
            await refusing.ended(within=60)
        except TimeoutError:
            self._problems.append("a worker went on although reports were lost")
        told = f"retention deleted offsets {checkpoint.offset} to {before - 1} before they were counted"
        if told not in refusing.log:
            self._problems.append(f"a worker that ended for lost reports did not say: {told}")
        self._environment["STREAM_LDP_ACCEPT_LOSS"] = "true"
        for _ in range(self.schedule.workers):
            self.hire()

    # What must hold afterwards.

    async def settle(self) -> None:
        """Wait until everything is as it must be, or until there has been time enough for it."""
        deadline = time.monotonic() + SETTLE_SECONDS
        while time.monotonic() < deadline:
            if not (await self._compare()).problems:
                return
            await asyncio.sleep(0.5)

    async def verdict(self) -> Outcome:
        """Stop all workers, and compare once more: whatever they still do may spoil nothing."""
        for worker in self.crew:
            if worker.expected is None:
                if worker.process.poll() is None:
                    worker.signal(signal.SIGTERM)
                worker.expected = 0
        for worker in self.crew:
            with suppress(TimeoutError):
                await worker.ended(within=30)
        outcome = await self._compare()
        outcome.problems += self._problems
        for number, worker in enumerate(self.crew):
            # Python has no handlers of signals before its first lines have run.
            early = worker.process.poll() == -signal.SIGTERM and not worker.log
            if worker.process.poll() != worker.expected and not early:
                last = worker.log.strip().splitlines()[-1:] or ["nothing"]
                outcome.problems.append(
                    f"worker {number} ended with {worker.process.poll()}, expected {worker.expected}: {last[0][:300]}"
                )
        return outcome

    async def _compare(self) -> Outcome:
        collection: Any = self.deployment.collection
        letters: list[tuple[tuple[int, int], Reason]] = []
        for record in await self.deployment.records(self.deployment.names.dead_letters(collection.name)):
            letter = DeadLetter.of(record)
            letters.append(((letter.source_partition, letter.source_offset), letter.reason))
        log = await self._log()
        bits = collection.bits
        expected: Expected = expect(
            log,
            fingerprint=collection.fingerprint,
            width=(bits + 7) // 8,
            bits=bits,
            window=collection.window,
            partitions=PARTITIONS,
            late=late_places(letters) if self.schedule.idle else None,
            lost=self._lost,
        )
        finals = await self._finals()
        return Outcome(
            schedule=self.schedule,
            batches=len(log),
            reports=sum(each.reports for each in finals),
            finals=len(finals),
            letters=len(letters),
            problems=[
                *differences_of_finals(finals, expected, collection=collection),
                *differences_of_letters(letters, expected),
            ],
        )

    async def _finals(self) -> list[Any]:
        """Return the final answers on the log, in its order."""
        collection = self.deployment.collection
        records = await self.deployment.records(self.deployment.names.answers(collection))
        message = kind_of(collection).answer
        return [answer for record in records if (answer := message.from_bytes(record.value)).final]

    async def _log(self) -> list[LoggedBatch]:
        """Return all that ever was on the reports topic and has been seen, each partition in order."""
        topic = self.deployment.names.reports(self.deployment.collection.name)
        for record in await self.deployment.records(topic):
            self._mirror[record.partition, record.offset] = LoggedBatch(
                partition=record.partition,
                offset=record.offset,
                appended_ms=record.timestamp,
                value=record.value or b"",
            )
        return [self._mirror[place] for place in sorted(self._mirror)]


def _fill(file: Path) -> None:
    with file.open("wb", buffering=0) as ballast, suppress(OSError):
        while True:
            ballast.write(bytes(2**20))
    with file.open("ab", buffering=0) as ballast, suppress(OSError):
        while True:
            ballast.write(bytes(2**12))


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
