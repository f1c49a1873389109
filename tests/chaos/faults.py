"""Let the faults of a run happen: to workers, brokers, the network, topics, gateways and subscribers."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import time
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic
from aiokafka.admin.records_to_delete import RecordsToDelete

from tests.chaos.clients import BatchClients
from tests.chaos.oracle import Lost
from tests.chaos.played import PARTITIONS, Played
from tests.chaos.proxy import Damage
from tests.chaos.schedule import Event, Fault

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
    from pathlib import Path

    from stream_ldp.kafka.embedded import EmbeddedKafka
    from tests.chaos.run import Crew
    from tests.service.harness import ServiceProcess

#: Seconds within which workers have to say that a topic is gone or has lost something, or that its brokers are away.
SAY_SECONDS = 20.0

_DAMAGES = {Fault.LOSE: Damage.LOSE, Fault.SWAP: Damage.SWAP, Fault.TRUNCATE: Damage.CUT}


class Faults:
    """The faults of one run.

    problems: what was not as it had to be meanwhile.
    """

    def __init__(self, crew: Crew, played: Iterable[Played]) -> None:
        self.problems: list[str] = []
        self._crew, self._stage = crew, crew.stage
        self._played = [each for each in played if isinstance(each.clients, BatchClients)]
        self._topics = asyncio.Lock()
        self._acts: dict[Fault, Callable[[Event], Awaitable[None]]] = {
            Fault.KILL: lambda event: self._replace(crew.workers, event, signal.SIGKILL, code=-9),
            Fault.TERMINATE: lambda event: self._replace(crew.workers, event, signal.SIGTERM, code=0),
            Fault.PAUSE: lambda event: self._freeze(crew.workers, event),
            Fault.JOIN: self._join,
            Fault.GATEWAY_KILL: lambda event: self._replace(crew.gateways, event, signal.SIGKILL, code=-9),
            Fault.GATEWAY_TERMINATE: lambda event: self._replace(crew.gateways, event, signal.SIGTERM, code=0),
            Fault.GATEWAY_FREEZE: lambda event: self._freeze(crew.gateways, event),
            Fault.SUBSCRIBER_KILL: lambda event: self._replace(crew.subscribers, event, signal.SIGKILL, code=-9),
            Fault.BROKER_KILL: self._broker_kill,
            Fault.BROKER_AWAY: self._broker_kill,
            Fault.BROKER_STOP: self._broker_stop,
            Fault.BROKER_FREEZE: self._broker_freeze,
            Fault.BROKER_FROZEN: self._broker_freeze,
            Fault.DELAY: self._delay,
            Fault.CUT: self._cut,
            Fault.NETWORK_AWAY: self._cut,
            Fault.HALF_CLOSE: self._half_close,
            Fault.SILENCE: self._silence,
            Fault.LOSE: self._damage,
            Fault.SWAP: self._damage,
            Fault.TRUNCATE: self._damage,
            Fault.RETENTION: self._retention,
            Fault.SHORTEN: self._shorten,
            Fault.DELETE: self._delete,
            Fault.WIDEN: self._widen,
            Fault.DISK_FULL: self._disk_full,
            Fault.CLOCK_AHEAD: self._clock,
            Fault.CLOCK_BACK: self._clock,
        }

    async def happen(self, event: Event) -> None:
        """Let a fault happen at its time."""
        await asyncio.sleep(event.at)
        await self._acts[event.fault](event)

    # Processes.

    async def _replace(
        self, processes: list[ServiceProcess], event: Event, how: signal.Signals, *, code: int
    ) -> None:
        """End a process, and start another one in its place later."""
        if (victim := self._crew.victim(processes, event.target)) is not None:
            await self._crew.dismiss(victim, how, code=code)
            await asyncio.sleep(event.seconds)
            self._crew.hire(processes, victim)

    async def _freeze(self, processes: list[ServiceProcess], event: Event) -> None:
        if (victim := self._crew.victim(processes, event.target)) is not None:
            with self._crew.paused(victim):
                await asyncio.sleep(event.seconds)

    async def _join(self, event: Event) -> None:
        self._crew.hire(self._crew.workers)

    # Brokers and the network.

    def _broker(self, event: Event) -> EmbeddedKafka:
        return self._stage.brokers[event.target % len(self._stage.brokers)]

    async def _broker_kill(self, event: Event) -> None:
        async with self._stage.lock:
            await asyncio.to_thread(self._broker(event).kill)
            await asyncio.sleep(event.seconds)
            await asyncio.to_thread(self._broker(event).start)

    async def _broker_stop(self, event: Event) -> None:
        async with self._stage.lock:
            await asyncio.to_thread(self._broker(event).shut_down)
            await asyncio.sleep(event.seconds)
            await asyncio.to_thread(self._broker(event).start)

    async def _broker_freeze(self, event: Event) -> None:
        async with self._stage.lock:
            self._broker(event).signal(signal.SIGSTOP)
            try:
                await asyncio.sleep(event.seconds)
            finally:
                self._broker(event).signal(signal.SIGCONT)

    async def _delay(self, event: Event) -> None:
        assert self._stage.proxy is not None
        self._stage.proxy.delay = 0.1 + 0.1 * (event.target % 5)
        await asyncio.sleep(event.seconds)
        self._stage.proxy.delay = 0.0

    async def _cut(self, event: Event) -> None:
        assert self._stage.proxy is not None
        self._stage.proxy.refusing = True
        self._stage.proxy.cut()
        await asyncio.sleep(event.seconds)
        self._stage.proxy.refusing = False

    async def _half_close(self, event: Event) -> None:
        assert self._stage.proxy is not None
        self._stage.proxy.half_close()

    async def _silence(self, event: Event) -> None:
        assert self._stage.proxy is not None
        self._stage.proxy.silence()

    async def _damage(self, event: Event) -> None:
        proxy = self._stage.proxy
        assert proxy is not None
        proxy.chance = random.Random(event.target)
        proxy.damage = _DAMAGES[event.fault]
        await asyncio.sleep(event.seconds)
        proxy.damage = None

    async def _clock(self, event: Event) -> None:
        self._stage.set_clock(3_600 if event.fault is Fault.CLOCK_AHEAD else -3_600)
        await asyncio.sleep(event.seconds)
        self._stage.set_clock(0)

    async def _disk_full(self, event: Event) -> None:
        assert self._stage.disk is not None
        ballast = self._stage.disk / "ballast"
        async with self._stage.lock:
            await asyncio.to_thread(_fill, ballast)
            (broker,) = self._stage.brokers
            with suppress(TimeoutError):
                # It ends by itself with the first write that fails, and frozen clients make none.
                await asyncio.wait_for(asyncio.to_thread(broker.wait), 10)
            await asyncio.sleep(event.seconds)
            ballast.unlink()
            await asyncio.to_thread(broker.restart)

    # Topics.

    def _target(self, event: Event) -> Played:
        return self._played[event.target % len(self._played)]

    @asynccontextmanager
    async def _admin(self) -> AsyncIterator[AIOKafkaAdminClient]:
        admin = AIOKafkaAdminClient(**self._played[0].deployment.settings.client_options())
        await admin.start()
        try:
            yield admin
        finally:
            await admin.close()

    async def _retention(self, event: Event) -> None:
        """Delete reports that nobody has read: a worker must refuse to go on, unless it may."""
        played = self._target(event)
        for worker in [each for each in self._crew.workers if each.expected is None]:
            await self._crew.dismiss(worker, signal.SIGKILL, code=-9)
        await asyncio.sleep(event.seconds)
        partition = event.target % PARTITIONS
        checkpoint = (await played.checkpoints())[partition]
        await played.logs.read()
        end = max(each.offset for each in played.logs.of(played.topic) if each.partition == partition) + 1
        before = (checkpoint.position + end + 1) // 2
        async with self._admin() as admin:
            await admin.delete_records({TopicPartition(played.topic, partition): RecordsToDelete(before)})
        played.lost[partition] = Lost(
            first=checkpoint.offset,
            end=before,
            read_to=checkpoint.position,
            watermark_ms=-(2**63) if checkpoint.watermark_ms is None else checkpoint.watermark_ms,
        )
        refusing = self._crew.hire(self._crew.workers)
        refusing.expected = 1
        try:
            await refusing.ended(within=60)
        except TimeoutError:
            self.problems.append("a worker went on although reports were lost")
        told = f"retention deleted offsets {checkpoint.offset} to {before - 1} before they were counted"
        if told not in refusing.log:
            self.problems.append(f"a worker that ended for lost reports did not say: {told}")
        self._crew.environment["STREAM_LDP_ACCEPT_LOSS"] = "true"
        for _ in range(self._crew.schedule.workers):
            self._crew.hire(self._crew.workers)

    async def _shorten(self, event: Event) -> None:
        """Let a partition lose its end, which workers have read: they say so, and count what comes then."""
        played = self._target(event)

        async def cut() -> None:
            if not await played.read_by_workers():
                self.problems.append(f"{played.drawn.kind}: what was sent was not read before its end was lost")
                return
            ends = played.logs.ends(played.topic)
            partition = max(ends, key=lambda each: (ends[each], each))
            (broker,) = self._stage.brokers
            async with self._stage.lock:
                await asyncio.to_thread(broker.kill)
                await asyncio.to_thread(_halve, broker.data / "log" / f"{played.topic}-{partition}")
                await asyncio.sleep(event.seconds)
                await asyncio.to_thread(broker.start)
            place = TopicPartition(played.topic, partition)
            async with AIOKafkaConsumer(**played.deployment.settings.client_options()) as consumer:
                end = (await consumer.end_offsets([place]))[place]
            assert end < ends[partition], "the log has lost nothing"
            played.lose({partition: end})

        said = self._crew.said(played.topic)
        async with self._topics:
            assert isinstance(played.clients, BatchClients)
            await played.clients.hush(cut)
        if not await self._within(lambda: self._crew.says(played.topic, since=said)):
            self.problems.append(f"no worker said within {SAY_SECONDS:.0f} s that {played.topic} has lost its end")

    async def _delete(self, event: Event) -> None:
        """Delete a topic: workers are not ready while it is gone, and count what comes when it is made again."""
        played = self._target(event)

        async def delete() -> None:
            if not await played.read_by_workers():
                self.problems.append(f"{played.drawn.kind}: what was sent was not read before the topic was deleted")
                return
            partitions = played.logs.partitions(played.topic)
            async with self._admin() as admin, self._crew.without(played.topic):
                await admin.delete_topics([played.topic])
                played.lose(dict.fromkeys(range(partitions), 0))
                began = time.monotonic()
                if not await self._within(lambda: self._some_worker_is_not_ready(played.topic)):
                    self.problems.append(
                        f"all workers were ready {SAY_SECONDS:.0f} s after {played.topic} had been deleted"
                    )
                await asyncio.sleep(max(0.0, began + event.seconds - time.monotonic()))
                made = await admin.create_topics(
                    [NewTopic(played.topic, partitions, 1, topic_configs=dict(played.topic_config))]
                )
                assert not any(code for _, code, *_ in made.topic_errors), made

        async with self._topics:
            assert isinstance(played.clients, BatchClients)
            await played.clients.hush(delete)

    async def _widen(self, event: Event) -> None:
        """Add partitions, which clients use at once."""
        played = self._target(event)
        async with self._topics:
            partitions = played.logs.partitions(played.topic) + 1 + event.target % 3
            async with self._admin() as admin:
                made = await admin.create_partitions({played.topic: NewPartitions(partitions)})
                assert not any(code for _, code, *_ in made.topic_errors), made
            played.widen(partitions)
            assert isinstance(played.clients, BatchClients)
            played.clients.partitions = partitions

    async def _some_worker_is_not_ready(self, topic: str) -> bool:
        running = [each for each in self._crew.workers if each.expected is None]
        told = await asyncio.gather(*[each.problems() for each in running])
        return any(topic in problem for problems in told for problem in problems)

    async def _within(self, done: Callable[[], Awaitable[bool]]) -> bool:
        deadline = time.monotonic() + SAY_SECONDS
        while time.monotonic() < deadline:
            if await done():
                return True
            await asyncio.sleep(0.3)
        return False


def _halve(directory: Path) -> None:
    """Cut the last segment of a log in half, as if a power failure had taken what was not on the disk."""
    segment = max(directory.glob("*.log"))
    os.truncate(segment, segment.stat().st_size // 2)


def _fill(file: Path) -> None:
    with file.open("wb", buffering=0) as ballast, suppress(OSError):
        while True:
            ballast.write(bytes(2**20))
    with file.open("ab", buffering=0) as ballast, suppress(OSError):
        while True:
            ballast.write(bytes(2**12))
