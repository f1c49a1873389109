"""One collection of a run: its clients, what its topics hold, and whether that is as it must be."""

from __future__ import annotations

import asyncio
import random
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from aiokafka import TopicPartition
from aiokafka.admin import AIOKafkaAdminClient

from stream_ldp.kafka.topics import topic_specs
from stream_ldp.kinds import kind_of
from stream_ldp.pipeline.answer import Status
from stream_ldp.pipeline.rejection import Reason
from stream_ldp.pipeline.source_checkpoint import Checkpoint
from stream_ldp.sets.rounds import Round
from tests.chaos.checks import differences_of_finals, differences_of_letters, differences_of_rounds, late_places
from tests.chaos.clients import BatchClients, GatewayDoor, KafkaDoor, PhaseClients
from tests.chaos.kinds import KINDS, forms
from tests.chaos.log import LIFE, Logged, Logs
from tests.chaos.oracle import LoggedBatch, Lost, expect

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.chaos.schedule import Drawn
    from tests.service.harness import Deployment

PARTITIONS = 4

#: Seconds within which what has been sent is read by the workers.
READ_SECONDS = 60.0


@dataclass(kw_only=True)
class Found:
    """What came of one collection."""

    batches: int = 0
    reports: int = 0
    finals: int = 0
    letters: int = 0
    problems: list[str] = field(default_factory=list)


class Played:
    """A collection of a run.

    lost: by partition, what retention has deleted unread.
    spare: places of what its log has lost although it had been read.
    silenced: whether partitions may be idle.
    judged: partitions of which the service alone can say what came late.
    received: the windows whose finals a subscriber has received; None if there is none.
    """

    def __init__(
        self,
        drawn: Drawn,
        deployment: Deployment,
        *,
        share: float,
        idle: bool,
        rng: random.Random,
        gateways: Sequence[str] = (),
    ) -> None:
        """Prepare for it.

        share: how much of the usual rate its clients report at.
        gateways: addresses of those that its clients go through; none if they go to the brokers.
        """
        collection: Any = deployment.collection
        self.drawn, self.collection, self.deployment = drawn, collection, deployment
        self.silenced = idle or KINDS[drawn.kind].batches is None
        self.lost: dict[int, Lost] = {}
        self.spare: set[tuple[int, int]] = set()
        self.judged: set[int] = set(range(PARTITIONS)) if self.silenced else set()
        self.received: set[tuple[str, int]] | None = None
        names = deployment.names
        (self.topic_config,) = (
            spec.config
            for spec in topic_specs([collection], prefix=names.prefix, partials_partitions=1)
            if spec.name == names.reports(collection.name)
        )
        self.topic, self._letters = names.reports(collection.name), names.dead_letters(collection.name)
        self._answers = names.answers(collection)
        self._rounds = names.rounds(collection.name) if kind_of(collection).rounds is not None else None
        self.logs = Logs(deployment.settings.brokers)
        self.logs.add(self.topic, partitions=PARTITIONS)
        for topic in filter(None, (self._letters, self._answers, self._rounds)):
            self.logs.add(topic, partitions=deployment.partitions[topic])
        self.door = (
            GatewayDoor(collection.name, urls=gateways, chance=rng)
            if gateways
            else KafkaDoor(self.topic, settings=deployment.settings, codec=drawn.codec)
        )
        self.clients = (
            BatchClients(
                collection,
                self.door,
                kind=drawn.kind,
                partitions=PARTITIONS,
                share=share,
                silent=idle,
                rng=rng,
            )
            if KINDS[drawn.kind].batches is not None
            else PhaseClients(collection, self.door, partitions=PARTITIONS, rounds=self._asked, rng=rng)
        )

    async def checkpoints(self) -> dict[int, Checkpoint]:
        """Return the last commit of each partition that has one."""
        partitions = [TopicPartition(self.topic, each) for each in range(self.logs.partitions(self.topic))]
        admin = AIOKafkaAdminClient(**self.deployment.settings.client_options())
        await admin.start()
        try:
            group = self.deployment.settings.group_names.ingest
            commits = await admin.list_consumer_group_offsets(group, partitions=partitions)
        finally:
            await admin.close()
        return {
            place.partition: Checkpoint.parse(commit.offset, commit.metadata)
            for place, commit in commits.items()
            if commit.offset >= 0
        }

    async def read_by_workers(self) -> bool:
        """Wait until workers have read all that is there, and say whether they have."""
        try:
            async with asyncio.timeout(READ_SECONDS):
                await self.logs.read()
                ends = {place: end for place, end in self.logs.ends(self.topic).items() if end > 0}
                while True:
                    known = await self.checkpoints()
                    if all(place in known and known[place].position >= end for place, end in ends.items()):
                        return True
                    await asyncio.sleep(0.3)
        except TimeoutError:
            return False

    def widen(self, partitions: int) -> None:
        """Note that the topic has more partitions, of which the service alone can say what came late."""
        before = self.logs.partitions(self.topic)
        self.logs.add(self.topic, partitions=partitions)
        self.judged |= set(range(before, partitions))

    def lose(self, ends: dict[int, int]) -> None:
        """Note that partitions have lost all that they had from an offset on, which workers had read."""
        self.spare |= {
            (each.partition, each.offset)
            for each in self.logs.of(self.topic)
            if each.partition in ends and each.offset % LIFE >= ends[each.partition]
        }
        # What a worker remembers of such a partition, and another does not, may decide what is late.
        self.judged |= ends.keys()
        self.logs.begin_life(self.topic, ends)

    async def compare(self) -> Found:
        """Compare what was published with what had to be."""
        await self.logs.read()
        # On a thread: the loop has the proxy, without which workers reach no broker.
        return await asyncio.to_thread(self._compared)

    def _compared(self) -> Found:
        collection = self.collection
        seen = self.logs.of(self.topic)
        log = [
            LoggedBatch(
                partition=each.partition,
                offset=each.offset,
                appended_ms=each.appended_ms,
                value=each.value,
                readable=each.headers is not None,
            )
            for each in seen
        ]
        letters = self._told(seen)
        late = late_places(letters)
        rounds = self._published()
        expected = expect(
            log,
            forms=forms(collection, rounds),
            window=collection.window,
            partitions=self.logs.partitions(self.topic),
            late=dict.fromkeys(self.judged, late),
            idle=self.silenced,
            lost=self.lost,
            spare=self.spare,
        )
        message = kind_of(collection).answer
        finals = [
            answer
            for record in self.logs.of(self._answers)
            if (answer := message.from_record(record.value, record.headers or ())).final
        ]
        return Found(
            batches=len(log),
            reports=sum(each.reports for each in finals),
            finals=len(finals),
            letters=len(letters),
            problems=[
                f"{self.drawn.kind}: {problem}"
                for problem in [
                    *differences_of_finals(finals, expected, collection=collection),
                    *differences_of_rounds(rounds, finals, collection=collection),
                    *differences_of_letters(letters, expected),
                    *self._accepted_and_missing(log),
                    *self._not_received(finals),
                ]
            ],
        )

    async def _asked(self) -> list[Round]:
        await self.logs.read()
        return self._published()

    def _published(self) -> list[Round]:
        if self._rounds is None:
            return []
        return [Round.from_bytes(each.value) for each in self.logs.of(self._rounds)]

    def _told(self, seen: Sequence[Logged]) -> list[tuple[tuple[int, int], Reason]]:
        """Return place and reason of all that has a dead letter; where a place had several records, of its own."""
        lives: dict[tuple[int, int], list[Logged]] = defaultdict(list)
        for each in seen:
            lives[each.partition, each.offset % LIFE].append(each)
        told = []
        for letter in self.logs.of(self._letters):
            headers = {name: value.decode() for name, value in letter.headers or ()}
            place = int(headers["source-partition"]), int(headers["source-offset"])
            own = [each for each in lives[place] if each.value == letter.value] or lives[place][-1:]
            first = own[-1].offset if own else place[1]
            alike = range(first, first + int(headers.get("count", 1)))
            told += [((place[0], offset), Reason(headers["reason"])) for offset in alike]
        return told

    def _accepted_and_missing(self, log: Sequence[LoggedBatch]) -> list[str]:
        if not isinstance(self.door, GatewayDoor):
            return []
        missing = self.door.accepted - {each.value[32:48] for each in log}
        return [f"{len(missing)} batches that a gateway had accepted are not on the log"] if missing else []

    def _not_received(self, finals: Sequence[Any]) -> list[str]:
        if self.received is None:
            return []
        told = {(each.series, each.window.start_ms) for each in finals if each.status is Status.ANSWERED}
        missing = sorted(told - self.received)
        return (
            [f"finals that a subscriber did not receive: {missing[:3]} and so on, {len(missing)}"] if missing else []
        )
