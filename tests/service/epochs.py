"""Users who report phase after phase on a real Kafka, and the epoch as computed from their reports."""

import asyncio
import os
import time
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from stream_ldp.mechanisms import SeededEntropy
from stream_ldp.pipeline import wire
from stream_ldp.sets.answer import Ranking
from stream_ldp.sets.collection import ItemCollection
from stream_ldp.sets.item_sets import ItemSets
from stream_ldp.sets.phases import Inquiry, RankingEstimate, itemsets_of
from stream_ldp.sets.rounds import Round
from stream_ldp.sets.sampling import respond
from stream_ldp.sets.solve import filter_epoch
from tests.service.harness import Deployment

#: Answers come at the end of a window, so that it closes in a second however long it is; silent partitions take half
#: a minute through the next one, time for a worker to take over from a dead one.
FILMS = """
collection: {name}
min_reports: 1
mechanism: {{kind: gfim, epsilon: 4, k: 8, set_size: 5}}
items: {{size: 128}}
window: {{size: 30s, grace: 200ms, idle_timeout: 400ms}}
every: 300ms
"""

#: Record key of what no worker wrote.
FORGER = b"somebody else"

#: Milliseconds before the end of a window in which all of its answers come.
ANSWERED_MS = 200


def film_sets(users: int, *, items: int, seed: int) -> ItemSets:
    """Draw sets of up to 5 items, low numbers more often (Zipf's law); some of them are empty."""
    rng = np.random.default_rng(seed)
    weights = 1.0 / np.arange(1, items + 1)
    drawn = rng.choice(items, size=(users, 5), p=weights / weights.sum())
    sizes = rng.integers(0, 6, size=users)
    return ItemSets.of(row[:size] for row, size in zip(drawn.tolist(), sizes.tolist(), strict=True))


@dataclass(frozen=True, kw_only=True)
class Batched:
    """One phase of an epoch from the reports alone: what the service has to arrive at."""

    reports: int
    sums: NDArray[np.int64]
    estimate: RankingEstimate
    following: Inquiry | None


class ItemDeployment(Deployment):
    """A deployment of one item collection."""

    collection: ItemCollection

    async def rounds(self) -> dict[tuple[int, int], Round]:
        """Return the last round of each (epoch, phase) on the rounds topic, of those that workers wrote."""
        records = await self.records(self.names.rounds(self.collection.name))
        rounds = [Round.from_bytes(record.value) for record in records if record.key != FORGER]
        return {(each.epoch, each.phase): each for each in rounds}

    async def rankings(self) -> list[Ranking]:
        """Return all final rankings on the log, in its order."""
        records = await self.records(self.names.answers_of(self.collection.name, "heavy-hitters"))
        return [Ranking.from_bytes(record.value) for record in records]

    async def provisional(self) -> list[Ranking]:
        """Return all provisional rankings on the log, in its order."""
        records = await self.records(self.names.provisional(self.collection.name))
        return [Ranking.from_bytes(record.value) for record in records]

    async def finals(self) -> dict[tuple[int, int], Ranking]:
        """Return the final ranking of each (epoch, phase); a second one of the same must have the same content."""
        finals: dict[tuple[int, int], Ranking] = {}
        for ranking in await self.rankings():
            if ranking.final:
                known = finals.setdefault((ranking.epoch, ranking.phase), ranking)
                assert known == ranking, "a final was published twice, with other content"
        return finals

    async def final(self, epoch: int, phase: int, *, within: float = 60.0) -> Ranking:
        """Wait for a final ranking, and return it."""
        async with asyncio.timeout(within):
            while (ranking := (await self.finals()).get((epoch, phase))) is None:
                await asyncio.sleep(0.1)
            return ranking

    async def round(self, epoch: int, phase: int, *, within: float = 60.0) -> Round:
        """Wait for the round that says what a phase asks, and return it."""
        if phase == 1:
            return Round.first(self.collection, epoch=epoch)
        async with asyncio.timeout(within):
            while (asked := (await self.rounds()).get((epoch, phase))) is None:
                await asyncio.sleep(0.1)
            return asked

    async def batch_answers(self, epoch: int) -> list[Batched]:
        """Compute an epoch by loops over the reports topic: good batches of each question, each id once.

        Of the package it uses the wire format and the method alone. It is valid where nothing is late.
        """
        method, schedule = self.collection.method, self.collection.schedule
        records = await self.records(self.names.reports(self.collection.name))
        answers: list[Batched] = []
        inquiry, before = method.first(), None
        while True:
            asked = Round.of(self.collection, inquiry, epoch=epoch)
            oracle = method.oracle(inquiry)
            decoded = wire.decode([record.value for record in records], formats={asked.fingerprint: oracle})
            starts = np.cumsum(decoded.counts) - decoded.counts
            seen: set[bytes] = set()
            sums, reports = np.zeros(oracle.counters, dtype=np.int64), 0
            start_ms = schedule.window_of(epoch, inquiry.phase)
            for batch_id, time_ms, first, count in zip(
                decoded.batch_ids, decoded.time_ms.tolist(), starts.tolist(), decoded.counts.tolist(), strict=True
            ):
                if batch_id not in seen and start_ms <= time_ms < start_ms + schedule.size_ms:
                    seen.add(batch_id)
                    sums += oracle.sums(decoded.rows[0][first : first + count])
                    reports += count
            before, following = method.solve(inquiry, sums=sums, reports=reports, before=before)
            following = following and following.canonical
            answers.append(Batched(reports=reports, sums=sums, estimate=before, following=following))
            if following is None:
                return answers
            inquiry = following

    async def assert_published(self, epoch: int, *, reports: int | None = None) -> None:
        """Assert that every phase's final is what the reports say, to 1e-9, and asks next what they ask.

        reports: answers to all phases together, where they are known.
        """
        answers = await self.batch_answers(epoch)
        finals, rounds = await self.finals(), await self.rounds()
        for phase, answer in enumerate(answers, start=1):
            final = finals[epoch, phase]
            assert final.reports == answer.reports
            assert final.reports_per_phase == tuple(each.reports for each in answers[:phase])
            if answer.following is None and final.about == "itemsets":
                self._assert_itemsets(final, answer.estimate)
                continue
            ranked = final.complete or not answer.following
            expected = self._learnt(answer, finals, epoch=epoch) if ranked else answer.estimate
            estimate = final.estimate
            np.testing.assert_array_equal(estimate.items, expected.items)
            np.testing.assert_allclose(estimate.frequency, expected.frequency, rtol=0, atol=1e-9)
            np.testing.assert_allclose(estimate.standard_error, expected.standard_error, rtol=0, atol=1e-9)
            names = [self.collection.items.name(item) for item in expected.items[: len(final.items)]]
            assert [each.item for each in final.items] == names
            assert bool(names) is (final.about == "items")
            if answer.following is None:
                assert final.complete
                assert final.next_phase is None
                assert (epoch, phase + 1) not in rounds
            else:
                assert rounds[epoch, phase + 1] == Round.of(self.collection, answer.following, epoch=epoch)
        if reports is not None:
            assert sum(answer.reports for answer in answers) == reports

    def _assert_itemsets(self, final: Ranking, expected: RankingEstimate) -> None:
        """Assert that the last final of an epoch has the itemsets that its reports say."""
        names = [tuple(map(self.collection.items.name, each)) for each in itemsets_of(expected.items)]
        assert final.complete
        assert final.next_phase is None
        assert [each.items for each in final.itemsets] == names
        for found, frequency, error in zip(final.itemsets, expected.frequency, expected.standard_error, strict=True):
            assert abs(found.frequency - min(max(frequency, 0.0), 1.0)) < 1e-9
            assert abs(found.standard_error - error) < 1e-9

    def _learnt(self, answer: Batched, finals: dict[tuple[int, int], Ranking], *, epoch: int) -> RankingEstimate:
        """Add to a last phase what the latest result before the first phase has left."""
        if not answer.reports:
            return answer.estimate
        begin_ms = self.collection.schedule.window_of(epoch, 1)
        results = {
            each: final for (each, _), final in finals.items() if final.complete and final.window.start_ms < begin_ms
        }
        earlier = results[max(results)].earlier if results else None
        return filter_epoch(answer.estimate, earlier, epoch=epoch, reports=answer.reports).estimate


@dataclass(kw_only=True)
class Users:
    """These are many users and their sets, without the client library.

    They live in event time of their own: they answer as soon as they can, at the end of the phase's window.
    """

    deployment: ItemDeployment
    sets: ItemSets
    seed: int
    batch: int = 250
    told: int = 0
    groups: dict[int, NDArray[np.uint32]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.entropy = SeededEntropy(self.seed)

    def batches(self, asked: Round) -> list[bytes]:
        """Make the answers of everyone whom a round asks."""
        collection = self.deployment.collection
        phase = asked.check(collection)
        words = self.groups.get(asked.epoch)
        if words is None:
            words = self.groups[asked.epoch] = self.entropy.words(len(self.sets))
        people = self.sets.take(np.flatnonzero(phase.asks(words)))
        rows = respond(collection.method, asked.inquiry, people, entropy=self.entropy)
        self.told += len(rows)
        parts = np.array_split(rows, max(1, len(rows) // self.batch))
        return [
            wire.encode(
                wire.Batch(
                    fingerprint=asked.fingerprint,
                    batch_id=os.urandom(16),
                    time_ms=asked.end_ms - ANSWERED_MS + ANSWERED_MS * place // len(parts),
                    rows=part,
                )
            )
            for place, part in enumerate(parts)
            if len(part)
        ]

    async def answer(self, asked: Round, *, seconds: float = 0.0) -> None:
        """Send all answers to a round, spread over some time."""
        batches = self.batches(asked)
        parts = max(1, int(seconds / 0.1))
        began = time.monotonic()
        for tick, part in enumerate(_parts(batches, parts)):
            await self.deployment.send(part)
            await asyncio.sleep(max(0.0, began + (tick + 1) * seconds / parts - time.monotonic()))

    async def live(self, epoch: int, *, seconds: float = 0.0) -> None:
        """Answer every phase of an epoch, each as soon as it is asked."""
        for phase in range(1, self.deployment.collection.schedule.phases + 1):
            await self.answer(await self.deployment.round(epoch, phase), seconds=seconds)


def next_epoch(deployment: ItemDeployment) -> int:
    """Return an epoch that began an hour ago: its clients' clocks are slow, and reports may be a day old."""
    schedule = deployment.collection.schedule
    return int(time.time() * 1_000 - 3_600_000) // (schedule.size_ms * schedule.stride)


def at(time_ms: int, batch: bytes) -> bytes:
    """Return the same batch with another event time."""
    # Byte positions of the event time and of what is summed: docs/wire.md.
    checked = batch[8:48] + time_ms.to_bytes(8, "little", signed=True) + batch[56:]
    return batch[:4] + zlib.crc32(checked).to_bytes(4, "little") + checked


def _parts(batches: Sequence[bytes], parts: int) -> Iterator[Sequence[bytes]]:
    size = -(-len(batches) // parts)
    return (batches[start : start + size] for start in range(0, len(batches), size))
