"""Play one schedule: workers as processes, clients, the faults at their times; then check all."""

from __future__ import annotations

import asyncio
import itertools
import os
import random
import re
import signal
import time
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from tests.chaos.faults import Faults
from tests.chaos.kinds import text_of
from tests.chaos.played import PARTITIONS, Found, Played
from tests.chaos.schedule import Schedule
from tests.chaos.subscriber import received
from tests.service.harness import OPEN_WORKER, Deployment, ServiceProcess, free_port

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

    from tests.chaos.stages import Stage

#: Seconds within which the first worker has to be ready: imports, a rebalance and a first look at all topics.
READY_SECONDS = 90.0

#: Seconds within which all finals have to be there once the faults are over: a rebalance, a group's new coordinator
#: and the read of the open windows, on a busy machine.
SETTLE_SECONDS = 90.0

#: Seconds beyond those of the traffic within which the clients have to have sent all: what a broker that recovers
#: takes, and the patience of a client that is in the middle of an epoch.
SEND_SECONDS = 180.0

#: Gateways of a run whose clients go through them.
GATEWAYS = 2


@dataclass(kw_only=True)
class Outcome:
    """What came of one run.

    problems: everything that was not as it had to be.
    unplayed: whether the run could not be played to its end.
    """

    schedule: Schedule
    batches: int = 0
    reports: int = 0
    finals: int = 0
    letters: int = 0
    seconds: float = 0.0
    problems: list[str] = field(default_factory=list)
    unplayed: bool = False

    def __str__(self) -> str:
        what = f"{self.batches} batches, {self.reports} reports, {self.finals} finals, {self.letters} dead letters"
        # How processes ended comes last, and explains the most.
        state = "; ".join(self.problems[:4] + self.problems[4:][-4:]) if self.problems else "exact"
        return f"{self.schedule}: {what}, {self.seconds:.0f} s: {state}"


async def play(schedule: Schedule, stage: Stage, *, directory: Path, broken: str | None = None) -> Outcome:
    """Play a schedule on a stage, and compare what was published with what had to be.

    directory: an empty one, for the workers' logs.
    broken: the rule of the design that the workers break, for a control.
    """
    began = time.monotonic()
    try:
        async with AsyncExitStack() as stack:
            run = _Run(schedule, stage, broken=broken)
            stack.push_async_callback(run.end)
            await run.prepare(directory)
            if (why := await run.begin()) is not None:
                outcome = Outcome(schedule=schedule, problems=[why], unplayed=True)
            else:
                tending = asyncio.create_task(run.crew.tend())
                try:
                    await run.act()
                    await run.settle()
                finally:
                    tending.cancel()
                outcome = await run.verdict()
    except Exception as error:  # noqa: BLE001  whatever has ended it, the next run can be played
        outcome = Outcome(schedule=schedule, problems=[f"the run broke off: {_told(error)}"], unplayed=True)
    outcome.seconds = time.monotonic() - began
    return outcome


def _told(error: BaseException) -> str:
    """Say what happened in one line, of a group what its first member says."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"


class Crew:
    """The processes of a run.

    environment: variables for the workers that are started from now on.
    problems: processes that ended as they should not have.
    """

    def __init__(self, schedule: Schedule, stage: Stage, *, broken: str | None) -> None:
        self.schedule, self.stage = schedule, stage
        self.environment = dict(stage.environment)
        self.workers: list[ServiceProcess] = []
        self.gateways: list[ServiceProcess] = []
        self.subscribers: list[ServiceProcess] = []
        self.problems: list[str] = []
        self._broken = broken
        self._paused: set[ServiceProcess] = set()
        self._gone: set[str] = set()
        self._excused: set[ServiceProcess] = set()

    def serve(self, served: list[Deployment], *, read: Deployment) -> None:
        """Let workers serve these, in turn; a subscriber reads the first collection of another."""
        self._served = itertools.cycle(served)
        self._read = read
        self.notes = read.directory / "received.jsonl"
        self.ports = [free_port() for _ in range(GATEWAYS)]

    @property
    def all(self) -> list[ServiceProcess]:
        """All processes that there were."""
        return [*self.workers, *self.gateways, *self.subscribers]

    def hire(self, processes: list[ServiceProcess], before: ServiceProcess | None = None) -> ServiceProcess:
        """Start one process more of a kind, in the place of another if one is given."""
        if processes is self.workers:
            started: ServiceProcess = next(self._served).worker(
                broken=self._broken,
                program=None if self._broken else OPEN_WORKER,
                environment=self.environment,
                fresh=True,
            )
        elif processes is self.gateways:
            started = self._gateway(before.port if before else self.ports[len(processes)])
        else:
            started = self._subscriber()
        processes.append(started)
        if self._gone:
            self._excused.add(started)
        return started

    @asynccontextmanager
    async def without(self, topic: str) -> AsyncIterator[None]:
        """Excuse workers that are started while there is no such topic: they may end and say so."""
        self._gone.add(topic)
        try:
            yield
        finally:
            self._gone.discard(topic)

    def _gateway(self, port: int) -> ServiceProcess:
        return ServiceProcess(
            [
                *("-m", "stream_ldp", "gateway"),
                *map(str, self._read.files),
                *("--port", str(port), "--rate", "100000", "--burst", "100000"),
                *self._flags(),
            ],
            log=self._read.directory / f"gateway-{len(self.gateways)}.log",
            port=port,
            environment={},
            fresh=True,
        )

    def _subscriber(self) -> ServiceProcess:
        return ServiceProcess(
            ["-m", "tests.chaos.subscriber", str(self._read.file), *self._flags(), "--notes", str(self.notes)],
            log=self._read.directory / f"subscriber-{len(self.subscribers)}.log",
            port=0,
            environment={},
            fresh=True,
        )

    def _flags(self) -> list[str]:
        settings = self._read.settings
        return ["--brokers", settings.brokers, "--topic-prefix", settings.topic_prefix]

    def victim(self, processes: list[ServiceProcess], target: int) -> ServiceProcess | None:
        """Choose one of those that run."""
        running = [each for each in processes if each not in self._paused and each.expected is None]
        return running[target % len(running)] if running else None

    async def dismiss(self, process: ServiceProcess, how: signal.Signals, *, code: int) -> None:
        """End a process, which then has to have this code."""
        if process.process.poll() is None:
            process.expected = code
        process.signal(how)
        with suppress(TimeoutError):
            await process.ended(within=30)

    @contextmanager
    def paused(self, process: ServiceProcess) -> Iterator[None]:
        """Suspend a process for a while."""
        self._paused.add(process)
        process.signal(signal.SIGSTOP)
        try:
            yield
        finally:
            process.signal(signal.SIGCONT)
            self._paused.discard(process)

    async def tend(self) -> None:
        """Start a worker anew whenever one ends that should not, as whatever runs workers does."""
        while True:
            await asyncio.sleep(0.5)
            for number, each in enumerate(self.workers):
                if each.expected is None and (code := each.process.poll()) is not None:
                    if each not in self._excused:
                        self.problems.append(f"worker {number} ended with {code}: {_last(each)}")
                    each.expected = code
                    self.hire(self.workers)

    async def explain(self) -> None:
        """Let every worker write into its log where its tasks wait, and say which of them is not ready."""
        for number, each in enumerate(self.workers):
            if each.expected is None:
                if told := await each.problems():
                    self.problems.append(f"worker {number} is not ready: {'; '.join(told)[:300]}")
                if not self._broken:
                    each.signal(signal.SIGRTMIN)
        await asyncio.sleep(0.5)

    def said(self, what: str) -> int:
        """Count the warnings and errors of workers in which something is named."""
        pattern = re.compile(
            rf"^.*\b(?:WARN(?:ING)?|ERROR|CRITICAL)\b.*{re.escape(what)}", re.MULTILINE | re.IGNORECASE
        )
        return sum(len(pattern.findall(each.log)) for each in self.workers)

    async def says(self, what: str, *, since: int) -> bool:
        """Say whether it has been named in a warning more."""
        return await asyncio.to_thread(self.said, what) > since

    async def disband(self) -> None:
        """Stop all, which have to end in good order."""
        for each in self.all:
            if each.expected is None:
                # A subscriber is a program of these tests, which nothing tells to stop.
                how = signal.SIGKILL if each in self.subscribers else signal.SIGTERM
                if each.process.poll() is None:
                    each.signal(how)
                each.expected = -9 if each in self.subscribers else 0
        for each in self.all:
            with suppress(TimeoutError):
                await each.ended(within=30)
        for name, processes in (
            ("worker", self.workers),
            ("gateway", self.gateways),
            ("subscriber", self.subscribers),
        ):
            for number, each in enumerate(processes):
                # Python has no handlers of signals before its first lines have run.
                early = each.process.poll() == -signal.SIGTERM and not each.log
                if each.process.poll() != each.expected and not early:
                    self.problems.append(
                        f"{name} {number} ended with {each.process.poll()}, expected {each.expected}: {_last(each)}"
                    )


def _last(process: ServiceProcess) -> str:
    """Return the last line that a process has said."""
    return (process.log.strip().splitlines() or ["nothing"])[-1][:300]


class _Run:
    def __init__(self, schedule: Schedule, stage: Stage, *, broken: str | None) -> None:
        self.schedule, self.stage = schedule, stage
        self.crew = Crew(schedule, stage, broken=broken)
        self.played: list[Played] = []
        self._rng = random.Random(schedule.seed)

    async def prepare(self, directory: Path) -> None:
        """Create the topics of collections of this run's own."""
        first, *others = self.schedule.collections
        replication = min(3, len(self.stage.brokers))
        deployment = await Deployment.create(
            directory,
            brokers=self.stage.address,
            prefix=f"chaos-{self.schedule.seed}-{os.urandom(3).hex()}",
            text=text_of(first.kind, first.window, idle=self.schedule.idle),
            partitions=PARTITIONS,
            replication=replication,
        )
        alone = [deployment]
        for drawn in others:
            text = text_of(drawn.kind, drawn.window, idle=self.schedule.idle)
            added = await deployment.beside_another(
                name=drawn.kind, text=text, partitions=PARTITIONS, replication=replication
            )
            deployment = added
            alone.append(added.of_last())
        through = deployment.settings.model_copy(update={"brokers": self.stage.workers_address or self.stage.address})
        sets = [deployment, await deployment.beside_another()] if self.schedule.two_sets else [deployment]
        self._edge = self.schedule.scene.name == "edge"
        self.crew.serve(
            [replace(each, settings=through) for each in sets], read=replace(deployment, settings=through)
        )
        urls = [f"http://127.0.0.1:{port}" for port in self.crew.ports]
        self.played = [
            Played(
                drawn,
                each,
                share=1.0 / len(alone),
                idle=self.schedule.idle,
                rng=random.Random(self._rng.randrange(2**32)),
                # One of them goes to the brokers all the same.
                gateways=urls if self._edge and number != 1 else (),
            )
            for number, (drawn, each) in enumerate(zip(self.schedule.collections, alone, strict=True))
        ]
        self.faults = Faults(self.crew, self.played)

    async def begin(self) -> str | None:
        """Start all processes, and say which of them is not ready in time."""
        for _ in range(self.schedule.workers):
            self.crew.hire(self.crew.workers)
        if self._edge:
            for _ in range(GATEWAYS):
                self.crew.hire(self.crew.gateways)
            self.crew.hire(self.crew.subscribers)
        for each in [self.crew.workers[0], *self.crew.gateways]:
            try:
                await each.ready(within=READY_SECONDS)
            except TimeoutError:
                await self.crew.explain()
                return f"not played: a process was not ready within {READY_SECONDS:.0f} s: {await each.problems()}"
            except AssertionError as error:
                return f"not played: {_told(error)}"
        return None

    async def end(self) -> None:
        """Leave nothing of this run."""
        for each in self.crew.all:
            each.__exit__()
        await self.stage.whole()

    async def act(self) -> None:
        """Send reports and let the faults happen, until the last window of the traffic can close."""
        async with asyncio.timeout(self.schedule.seconds + SEND_SECONDS), AsyncExitStack() as stack:
            for each in self.played:
                await each.door.start()
                stack.push_async_callback(each.door.stop)
            async with asyncio.TaskGroup() as group:
                for each in self.played:
                    group.create_task(each.clients.report(seconds=self.schedule.seconds))
                for event in self.schedule.events:
                    group.create_task(self.faults.happen(event))
            await asyncio.gather(*[each.clients.close() for each in self.played])

    async def settle(self) -> None:
        """Wait until everything is as it must be, or until there has been time enough for it."""
        deadline = time.monotonic() + SETTLE_SECONDS
        while time.monotonic() < deadline:
            if not any(found.problems for found in await self._compare()):
                return
            await asyncio.sleep(0.5)
        await self.crew.explain()

    async def verdict(self) -> Outcome:
        """Stop all workers, and compare once more: whatever they still do may spoil nothing."""
        await self.crew.disband()
        found = await self._compare()
        return Outcome(
            schedule=self.schedule,
            batches=sum(each.batches for each in found),
            reports=sum(each.reports for each in found),
            finals=sum(each.finals for each in found),
            letters=sum(each.letters for each in found),
            problems=[
                *itertools.chain(*(each.problems for each in found)),
                *self.faults.problems,
                *self.crew.problems,
            ],
        )

    async def _compare(self) -> list[Found]:
        if self._edge:
            self.played[0].received = received(self.crew.notes)
        return [await each.compare() for each in self.played]
