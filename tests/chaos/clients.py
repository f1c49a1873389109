"""The clients of a run: they report all the time, or phase after phase, by brokers or by gateways."""

from __future__ import annotations

import asyncio
import itertools
import random
import struct
import time
import zlib
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol

import aiohttp
import numpy as np
from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.errors import KafkaError

from stream_ldp.sets.rounds import Round
from tests.chaos.kinds import KINDS, answers
from tests.kafka.unreadable_batch import append
from tests.service.epochs import at

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from stream_ldp.kafka.settings import Settings

#: Seconds between two looks of the clients at what there is to send.
TICK_SECONDS = 0.05

#: Batches that clients keep for later at most: in an outage they say no more than that.
MAX_WAITING = 400

#: Seconds after which a client sends again what has not been taken.
RETRY_SECONDS = 0.2

#: Requests that clients have under way at once.
MAX_REQUESTS = 32

#: Seconds for which the answers to one phase are sent.
PHASE_SECONDS = 1.0

#: Seconds for which clients wait for what the next phase asks, after which the epoch is given up.
ASKED_SECONDS = 90.0

#: Status of a batch that no worker would count.
_REFUSED = 400


class Door(Protocol):
    """The way on which batches go."""

    async def start(self) -> None: ...

    async def stop(self) -> None: ...

    async def send(self, value: bytes, *, partition: int, readable: bool = True) -> None:
        """Send a batch until it has been taken or refused.

        partition: that of the topic, where the client chooses it.
        readable: False to give it a header that Kafka's other clients cannot read, where there are headers.
        """
        ...


class KafkaDoor:
    """Straight to the brokers."""

    def __init__(self, topic: str, *, settings: Settings, codec: str) -> None:
        self._topic, self._codec, self._settings = topic, codec, settings

    async def start(self) -> None:
        codec = None if self._codec == "none" else self._codec
        self._producer = AIOKafkaProducer(
            **self._settings.client_options(),
            acks="all",
            linger_ms=5,
            compression_type=codec,
            # New partitions are used at once.
            metadata_max_age_ms=1_000,
        )
        await self._producer.start()

    async def stop(self) -> None:
        await self._producer.stop()

    async def send(self, value: bytes, *, partition: int, readable: bool = True) -> None:
        while True:
            with suppress(KafkaError, TimeoutError, AssertionError):
                if readable:
                    await self._producer.send_and_wait(self._topic, value, partition=partition)
                else:
                    await append(self._producer, TopicPartition(self._topic, partition), [value], spoiled={0})
                return
            await asyncio.sleep(RETRY_SECONDS)


class GatewayDoor:
    """By HTTP, to any of some gateways.

    accepted: the ids of the batches that a gateway has accepted.
    """

    def __init__(self, name: str, *, urls: Sequence[str], chance: random.Random) -> None:
        self.accepted: set[bytes] = set()
        self._path, self._urls, self._chance = f"/v1/collections/{name}/batches", urls, chance
        self._open = asyncio.Semaphore(MAX_REQUESTS)

    async def start(self) -> None:
        self._session = aiohttp.ClientSession(
            timeout=aiohttp.ClientTimeout(total=15), headers={"Content-Type": "application/vnd.sldp.batch;v=1"}
        )

    async def stop(self) -> None:
        await self._session.close()

    async def send(self, value: bytes, *, partition: int, readable: bool = True) -> None:
        while True:
            with suppress(aiohttp.ClientError, TimeoutError):
                async with (
                    self._open,
                    self._session.post(self._chance.choice(self._urls) + self._path, data=value) as answer,
                ):
                    if answer.status == 200:
                        self.accepted.add(value[32:48])
                        return
                    if answer.status == _REFUSED:
                        return
            await asyncio.sleep(RETRY_SECONDS)


class Clients(Protocol):
    """The clients of one collection."""

    async def report(self, *, seconds: float) -> None:
        """Report for some time."""
        ...

    async def close(self) -> None:
        """Report what closes the last windows, when nothing more goes wrong that could take it away."""
        ...


class BatchClients:
    """Clients that report all the time: good batches and repeats, late ones, ones out of order, and broken ones.

    partitions: of the topic, as they know it.
    silent: whether they leave out the last partition after a third of the time.
    """

    def __init__(
        self,
        collection: Any,
        door: Door,
        *,
        kind: str,
        partitions: int,
        share: float,
        silent: bool,
        rng: random.Random,
    ) -> None:
        """Make them.

        share: how much of the usual rate they report at.
        rng: decides what they send.
        """
        self.partitions = partitions
        self._collection, self._door, self._share = collection, door, share
        self._silent, self._rng = silent, rng
        self._make = KINDS[kind].batches
        self._numbers = np.random.default_rng(rng.randrange(2**32))
        self._waiting: set[asyncio.Task[None]] = set()
        self._gate = asyncio.Event()
        self._gate.set()

    async def report(self, *, seconds: float) -> None:
        """Report at an even rate."""
        began = time.monotonic()
        self._seconds = seconds
        try:
            for tick in itertools.count():
                await self._gate.wait()
                elapsed = time.monotonic() - began
                if elapsed > seconds:
                    break
                if len(self._waiting) < MAX_WAITING:
                    self._tick(open_to=self._open_to(elapsed, seconds))
                await asyncio.sleep(max(0.0, began + (tick + 1) * TICK_SECONDS - time.monotonic()))
            await self._delivered()
        finally:
            for task in self._waiting:
                task.cancel()

    async def close(self) -> None:
        """Report one batch more to each partition, which closes all windows before it."""
        window = self._collection.window
        await asyncio.sleep((window.size_ms + window.grace_ms + window.pane_ms) / 1_000)
        partitions = self._open_to(self._seconds, self._seconds)
        closing = self._batches([now_ms()] * partitions, reports=1)
        await asyncio.gather(
            *[self._door.send(value, partition=partition) for partition, value in enumerate(closing)]
        )

    async def hush(self, until: Callable[[], Awaitable[None]]) -> None:
        """Say nothing more, and when all that was said has arrived, until something has happened."""
        self._gate.clear()
        try:
            await self._delivered()
            await until()
        finally:
            self._gate.set()

    async def _delivered(self) -> None:
        while self._waiting:
            await asyncio.wait(self._waiting)

    def _open_to(self, elapsed: float, seconds: float) -> int:
        # In a run with idle partitions, one of them falls silent.
        return self.partitions - 1 if self._silent and elapsed > seconds / 3 else self.partitions

    def _tick(self, *, open_to: int) -> None:
        now = now_ms()
        # A part of a batch is one now and then.
        count = int(6 * self._share + self._rng.random())
        times = [now - self._rng.choice((0, 0, 0, 0, 0, 200, 700, 3_000)) for _ in range(count)]
        if self._rng.random() < 0.02:
            times.append(now + 3_600_000)
        for value in self._batches(times, reports=self._rng.randint(1, 9)):
            partition = self._rng.randrange(open_to)
            readable = self._rng.random() > 0.005
            for copy in self._copies(value):
                task = asyncio.create_task(self._door.send(copy, partition=partition, readable=readable))
                self._waiting.add(task)
                task.add_done_callback(self._waiting.discard)

    def _batches(self, times_ms: Sequence[int], *, reports: int) -> list[bytes]:
        assert self._make is not None
        return self._make(self._collection, times_ms, reports=reports, rng=self._numbers)

    def _copies(self, value: bytes) -> list[bytes]:
        """Spoil some batches: sent twice, with a bit flipped, cut short, or with rows that no noise has made."""
        chance = self._rng.random()
        if chance < 0.05:
            return [value, value]
        if chance < 0.08:
            place = self._rng.randrange(len(value))
            return [value[:place] + bytes([value[place] ^ (1 << self._rng.randrange(8))]) + value[place + 1 :]]
        if chance < 0.09:
            return [value[: self._rng.randrange(len(value))]]
        if chance < 0.1:
            checked = value[8:56] + self._rng.randbytes(len(value) - 56)
            return [value[:4] + struct.pack("<I", zlib.crc32(checked)) + checked]
        return [value]


class PhaseClients:
    """Clients of a collection of item sets, who answer phase after phase as soon as they are asked.

    They live in event time of their own, an hour ago: their answers come at the end of a phase's window, which closes
    when they have been silent for a while.
    """

    def __init__(
        self,
        collection: Any,
        door: Door,
        *,
        partitions: int,
        rounds: Callable[[], Awaitable[Sequence[Round]]],
        rng: random.Random,
    ) -> None:
        """Make them.

        rounds: reads the rounds that have been published.
        """
        self._collection, self._door, self._rounds, self._rng = collection, door, rounds, rng
        self._partitions = partitions
        self._numbers = np.random.default_rng(rng.randrange(2**32))

    async def report(self, *, seconds: float) -> None:
        """Answer epochs that begin within some time, each to its end."""
        began, schedule = time.monotonic(), self._collection.schedule
        epoch = (now_ms() - 3_600_000) // (schedule.size_ms * schedule.stride)
        while time.monotonic() - began < seconds:
            with suppress(TimeoutError):
                for phase in range(1, schedule.phases + 1):
                    await self._answer(await self._asked(epoch, phase))
            epoch += 1

    async def close(self) -> None:
        """Do nothing: their windows close when they are silent."""

    async def _asked(self, epoch: int, phase: int) -> Round:
        if phase == 1:
            return Round.first(self._collection, epoch=epoch)
        async with asyncio.timeout(ASKED_SECONDS):
            while True:
                # The brokers may be away.
                with suppress(TimeoutError):
                    for each in await self._rounds():
                        if (each.epoch, each.phase) == (epoch, phase):
                            return each
                await asyncio.sleep(0.3)

    async def _answer(self, asked: Round) -> None:
        batches = answers(self._collection, asked, rng=self._numbers)
        # Some come again, and one in the window of another phase.
        batches += self._rng.sample(batches, 2)
        batches.append(at(asked.start_ms - 1, batches[0]))
        sending = []
        for value in batches:
            # A copy goes where the first went.
            partition = zlib.crc32(value[32:48]) % self._partitions
            sending.append(asyncio.create_task(self._door.send(value, partition=partition)))
            await asyncio.sleep(PHASE_SECONDS / len(batches))
        await asyncio.gather(*sending)


def now_ms() -> int:
    """Return the time, in milliseconds since 1970-01-01 UTC."""
    return time.time_ns() // 1_000_000
