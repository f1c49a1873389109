"""Item collections, rounds and a virtual time to test their clients with."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from stream_ldp.mechanisms.randomness.user_partition import partition_words
from stream_ldp.pipeline import wire
from stream_ldp.sets.collection import ItemCollection
from stream_ldp.sets.layout import PhaseLayout
from stream_ldp.sets.phases import Inquiry
from stream_ldp.sets.rounds import Round
from tests.client.examples import MINUTE_MS

if TYPE_CHECKING:
    from tests.client.fakes import FakeBroker

#: Of the first minute of a day in 2024, in collections with three phases of a minute.
EPOCH = 9_500_000

_FILMS = """
collection: films
mechanism: {mechanism}
items: {{names: [Alien, Brazil, Casablanca, Dogville, Eraserhead, Fargo, Gilda, Heat]}}
window: {{size: {size}, grace: 300ms, idle_timeout: 300ms, time_precision: {precision}}}
epochs: {epochs}
"""

#: Little noise: all but one report in 100,000 support what they were made from.
NOISELESS = "{kind: gfim, epsilon: 36, k: 2, k_max: 4, set_size: 2}"
GFIM = "{kind: gfim, epsilon: 2, k: 2, k_max: 4, set_size: 2}"


def films_text(
    *, mechanism: str = GFIM, size: str = "60s", epochs: str = "sequential", precision: str = "1ms"
) -> str:
    """Write a collection file of eight films; its event times are exact, so that they tell when a report was made."""
    return _FILMS.format(mechanism=mechanism, size=size, epochs=epochs, precision=precision)


@cache
def films(**changes: str) -> ItemCollection:
    """Load the same as a collection: phases of a minute, of which the second and the third ask different users."""
    return ItemCollection.parse(films_text(**changes))


def film_round(
    phase: int, *, epoch: int = EPOCH, collection: ItemCollection | None = None, candidates: Iterable[int] = (0, 2, 4)
) -> Round:
    """Make the round of a phase; tests change its fields by `model_copy`."""
    collection = collection or films()
    inquiry = collection.method.first()
    if phase > 1:
        inquiry = Inquiry(phase=phase, candidates=np.array(list(candidates), dtype=np.int64), padding=1)
    return Round.of(collection, inquiry, epoch=epoch)


def secret_asked_in(phase: int, *, collection: ItemCollection | None = None, epoch: int = EPOCH) -> bytes:
    """Find the secret of a user whom this phase of the epoch asks."""
    collection = collection or films()
    for number in range(1, 1_000):
        secret = number.to_bytes(32, "big")
        words = partition_words([secret], fingerprint=collection.fingerprint, epoch=epoch)
        if collection.method.phases[phase - 1].asks(words)[0]:
            return secret
    raise AssertionError("one user in two is asked")


@dataclass
class Timeline:
    """A rounds topic in a time that passes only while a client waits for it, and only as far as the test lets it.

    records: (when it is published, its bytes), in the order of offsets.
    """

    now_ms: int
    records: list[tuple[int, bytes]] = field(default_factory=list)
    until_ms: int = 0
    stopped: list[str] = field(default_factory=list)
    _go: asyncio.Event = field(default_factory=asyncio.Event)
    _there: asyncio.Event = field(default_factory=asyncio.Event)

    def __call__(self) -> int:
        """Return the time, in milliseconds."""
        return self.now_ms

    def publish(self, asked: Round | bytes, *, at_ms: int | None = None) -> None:
        """Put a round on the topic, now or later."""
        value = asked if isinstance(asked, bytes) else asked.to_bytes()
        self.records.append((self.now_ms if at_ms is None else at_ms, value))

    async def reach(self, time_ms: int) -> None:
        """Let time pass, and wait until all that happens meanwhile has happened."""
        self.until_ms = time_ms
        self._there.clear()
        self._go.set()
        async with asyncio.timeout(30):
            await self._there.wait()

    async def wait(self, timeout_ms: int, offset: int) -> list[tuple[int, bytes]]:
        """Return what a consumer at an offset gets within so long."""
        deadline = self.now_ms + timeout_ms
        while True:
            if ready := [record for record in self.records[offset:] if record[0] <= self.now_ms]:
                return ready
            if self.now_ms >= deadline:
                await asyncio.sleep(0)
                return []
            if self.now_ms >= self.until_ms:
                self._there.set()
                self._go.clear()
                await self._go.wait()
                continue
            coming = [at_ms for at_ms, _ in self.records[offset:]]
            self.now_ms = min([deadline, self.until_ms, *coming])


@dataclass
class LoopTimeline(Timeline):
    """A timeline in the time of the event loop, for `run_in_virtual_time`."""

    def __call__(self) -> int:
        """Return the time, in milliseconds."""
        return self.now_ms + round(asyncio.get_running_loop().time() * 1_000)

    async def wait(self, timeout_ms: int, offset: int) -> list[tuple[int, bytes]]:
        """Return what a consumer at an offset gets within so long."""
        deadline = self() + timeout_ms
        while (
            not (ready := [record for record in self.records[offset:] if record[0] <= self()]) and self() < deadline
        ):
            coming = [at_ms for at_ms, _ in self.records[offset:]]
            await asyncio.sleep((min([deadline, *coming]) - self()) / 1_000)
        return ready


class FakeRoundsConsumer:
    """The part of aiokafka's consumer that a `RoundFeed` uses, on a `Timeline`."""

    def __init__(self, timeline: Timeline, broker: FakeBroker) -> None:
        self._timeline = timeline
        self._broker = broker
        self._offset = 0

    async def start(self) -> None:
        return

    async def stop(self) -> None:
        self._timeline.stopped.append("consumer")

    async def topics(self) -> set[str]:
        return self._broker.topics

    def assign(self, partitions: list[Any]) -> None:
        (self._partition,) = partitions

    def seek(self, partition: Any, offset: int) -> None:
        self._offset = offset

    async def position(self, partition: Any) -> int:
        return self._offset

    async def end_offsets(self, partitions: list[Any]) -> dict[Any, int]:
        end = sum(at_ms <= self._timeline() for at_ms, _ in self._timeline.records)
        return dict.fromkeys(partitions, end)

    async def beginning_offsets(self, partitions: list[Any]) -> dict[Any, int]:
        return dict.fromkeys(partitions, 0)

    async def offsets_for_times(self, times: dict[Any, int]) -> dict[Any, Any]:
        ((partition, since_ms),) = times.items()
        for offset, (at_ms, _) in enumerate(self._timeline.records):
            if since_ms <= at_ms <= self._timeline():
                return {partition: SimpleNamespace(offset=offset)}
        return {partition: None}

    async def getmany(
        self, partition: Any, *, timeout_ms: int, max_records: int | None = None
    ) -> dict[Any, list[Any]]:
        records = await self._timeline.wait(timeout_ms, self._offset)
        found = [
            SimpleNamespace(value=value, offset=self._offset + place, timestamp=at_ms)
            for place, (at_ms, value) in enumerate(records)
        ]
        self._offset += len(found)
        return {partition: found}


@dataclass(frozen=True, kw_only=True)
class SentReports:
    """The reports that were sent to one round.

    times_ms, counts: event time and number of reports of each batch.
    supports: number of reports that support each of the round's values.
    """

    times_ms: list[int]
    counts: list[int]
    supports: NDArray[np.float64]

    @property
    def total(self) -> int:
        return sum(self.counts)


def reports_sent(broker: FakeBroker, *rounds: Round, collection: ItemCollection | None = None) -> list[SentReports]:
    """Decode the reports to each of some rounds as a worker reads them; there must be no others."""
    collection = collection or films()
    made = [PhaseLayout(collection, None if each.phase == 1 else each) for each in rounds]
    # First phases of all epochs have one fingerprint, and so one layout.
    layouts = {layout.fingerprint: layout for layout in made}
    values = [arguments["value"] for topic, arguments in broker.sent if topic == "stream-ldp.films.reports"]
    decoded = wire.decode(values, formats=layouts)
    assert decoded.rejected == []
    assert len(set(decoded.batch_ids)) == len(decoded.batch_ids)
    found = []
    for layout in made:
        place = list(layouts).index(layout.fingerprint)
        mine = decoded.formats == place
        rows = decoded.rows[place]
        found.append(
            SentReports(
                times_ms=decoded.time_ms[mine].tolist(),
                counts=decoded.counts[mine].tolist(),
                supports=layout.oracle.supports(layout.oracle.sums(rows), reports=len(rows)),
            )
        )
    return found


def minutes(count: float) -> int:
    """Return the event time so many minutes after the beginning of `EPOCH`."""
    return 3 * EPOCH * MINUTE_MS + int(count * MINUTE_MS)
