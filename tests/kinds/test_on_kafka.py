"""The service with every kind at once on a real Kafka: a worker is killed, and another answers as if nothing was."""

import asyncio
import hashlib
import math
import os
import signal
from collections import Counter, defaultdict
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from stream_ldp.client.reporter import Reporter
from stream_ldp.collection.synthesis import topics_of
from stream_ldp.kafka.embedded import EmbeddedKafka
from stream_ldp.kinds import KINDS, kind_of, load_collection, solve
from stream_ldp.mechanisms import OSEntropy
from stream_ldp.pipeline import wire
from stream_ldp.pipeline.kind import Kind
from stream_ldp.pipeline.rejection import Reason
from stream_ldp.pipeline.rows import rows_of
from stream_ldp.pipeline.window_task import WindowTask
from stream_ldp.pipeline.windows import pane_of
from stream_ldp.service.replay import compare
from stream_ldp.sets.item_sets import ItemSets
from stream_ldp.synthesis.chunk import SyntheticChunk
from stream_ldp.synthesis.publication import published
from tests.kinds.subjects import FORMS, SUBJECTS, Subject
from tests.kinds.test_service import RENAMED, renamed
from tests.paths import REPOSITORY
from tests.service.epochs import ItemDeployment, Users, next_epoch
from tests.service.harness import Deployment
from tests.toy import COIN

USERS = 300
PARTITIONS = 2
SECRETS = [hashlib.sha256(b"user %d" % number).digest() for number in range(USERS)]
#: Windows that are answered; users report in four parts, of which the second and the third share a window.
WINDOWS = (0, 1, 1, 2)


class Played(Deployment):
    """A collection whose users report whenever they want, an hour ago: their clocks are slow."""

    collection: Any

    @property
    def _begin_ms(self) -> int:
        size_ms: int = self.collection.window.size_ms
        return (self.file.stat().st_mtime_ns // 1_000_000 - 3_600_000) // size_ms * size_ms

    @property
    def kind(self) -> Kind[Any, Any, Any]:
        return kind_of(self.collection)

    @property
    def subject(self) -> Subject:
        return FORMS.get(self.collection.name, SUBJECTS[self.kind.name])

    def window(self, number: int) -> int:
        """Return when a window begins."""
        return int(self._begin_ms + number * self.collection.window.size_ms)

    async def play(self, *, part: int) -> None:
        """Let users report in the window of a part."""
        time_ms = self.window(WINDOWS[part])
        options: dict[str, Any] = {"settings": self.settings, "clock": lambda: time_ms, "max_reports": 50}
        async with Reporter(self.collection, **options) as reporter:
            # Where they take turns, a third of them has one in each window.
            secrets = None if self.collection.rotate is None else SECRETS
            await reporter.report_many(self.subject.users(USERS), secrets=secrets)

    async def begin(self) -> None:
        """Let users report to two windows, of which the first is answered."""
        await self.send([b"nothing of ours"])
        await self.play(part=0)
        await self.play(part=1)
        await self.close(0)
        await self.final(0)

    async def go_on(self) -> None:
        """Let users report to the second window again, then to the third, and one too late to the first."""
        await self.send([renamed(self.batch(time_ms=self.window(0)))])
        await self.play(part=2)
        await self.close(1)
        await self.play(part=3)
        await self.close(2)
        await self.final(2)
        await self.in_rows(2)
        await self.synthesized(2)

    async def close(self, number: int) -> None:
        """Let a window close: somebody reports to every partition beyond its grace, in the next window."""
        for partition in range(PARTITIONS):
            await self.send([self.batch(time_ms=self.window(number + 1) + 2_000)], partition=partition)

    def batch(self, *, time_ms: int) -> bytes:
        """Make a batch of one report."""
        collection, entropy = self.collection, OSEntropy()
        table = collection.table([collection.encode(self.subject.held[0])])
        rows = self.kind.reports(collection, table, secrets=None, memoises=True, time_ms=time_ms, entropy=entropy)
        return wire.encode(
            wire.Batch(fingerprint=collection.fingerprint, batch_id=os.urandom(16), time_ms=time_ms, rows=rows)
        )

    async def finals(self) -> dict[int, Any]:
        """Return the final of each window on the log; a second one of the same must have the same bytes."""
        found: dict[int, Any] = {}
        for record in await self.records(self.names.answers(self.collection)):
            answer = self.kind.answer.from_record(record.value, record.headers)
            if answer.final:
                assert found.setdefault(answer.window.start_ms, answer) == answer, "two contents"
        return dict(sorted(found.items()))

    async def final(self, number: int, *, within: float = 90.0) -> None:
        """Wait for the final of a window."""
        async with asyncio.timeout(within):
            while self.window(number) not in await self.finals():
                await asyncio.sleep(0.3)

    async def in_rows(self, number: int, *, within: float = 60.0) -> None:
        """Wait for the rows of the final of a window."""
        last = list(rows_of((await self.finals())[self.window(number)]))[-1].key
        async with asyncio.timeout(within):
            while last not in {record.key for record in await self.records(self.names.rows(self.collection))}:
                await asyncio.sleep(0.3)

    async def synthesized(self, number: int, *, within: float = 60.0) -> None:
        """Wait for the synthetic records of a window, where there are any."""
        if topics_of(self.collection).records:
            async with asyncio.timeout(within):
                while self.window(number) not in await self.complete():
                    await asyncio.sleep(0.3)

    async def complete(self) -> set[int]:
        """Return the windows all of whose synthetic records are on the log."""
        records = await self.records(self.names.records(self.collection.name))
        found = [SyntheticChunk.from_bytes(record.value) for record in records]
        there = Counter(start for start, _ in {(each.window.start_ms, each.chunk) for each in found})
        return {each.window.start_ms for each in found if there[each.window.start_ms] == each.chunks}

    async def computed(self) -> tuple[list[Any], list[bytes]]:
        """Compute the finals, and the synthetic records, by loops over the reports topic, each batch once."""
        layout = self.kind.layout(self.collection)
        seen: set[bytes] = set()
        rows: dict[int, list[NDArray[np.uint8]]] = defaultdict(list)
        for record in await self.records(self.names.reports(self.collection.name)):
            decoded = wire.decode([record.value], formats={layout.fingerprint: layout})
            if len(decoded.accepted) and decoded.batch_ids[0] not in {*seen, RENAMED}:
                seen.add(decoded.batch_ids[0])
                rows[pane_of(int(decoded.time_ms[0]), self.collection.window)].append(decoded.rows[0])
        finals: list[Any] = []
        records: list[bytes] = []
        for number in sorted(set(WINDOWS)):
            tallies = layout.tallies()
            layout.count(tallies, np.concatenate(rows[self.window(number)]))
            counted = {name: tuple(tally.take_changed(closing=True).values()) for name, tally in tallies.items()}

            def task(series: Any, before: Any, *, of: Any = counted, start: int = self.window(number)) -> Any:
                windows = ((1.0, of[series.statistic(before)]),)
                return WindowTask(series=series, window_ms=start, final=True, windows=windows, before=before)

            before = finals[-1] if finals else None
            finals.append(solve(self.collection, task(self.collection.series[0], before)))
            if topics_of(self.collection).records:
                earlier = {before.series: before} if before else {}
                asked = task(self.collection.whole, None)
                records += [
                    each.to_bytes() for each in published(self.collection, asked, finals[-1], earlier=earlier)
                ]
        return finals, records

    async def assert_answered(self) -> None:
        """Assert that the finals are those of one computation, and that what cannot count was refused."""
        finals = await self.finals()
        expected, records = await self.computed()
        published = [finals[self.window(number)] for number in sorted(set(WINDOWS))]
        assert published == expected
        asked = [int(self.collection.asks(SECRETS, time_ms=self.window(number)).sum()) for number in range(3)]
        assert [each.reports for each in published] == [asked[0], 2 * asked[1] + PARTITIONS, asked[2] + PARTITIONS]
        for (target, key), share in self.subject.truth.items():
            cell = next(each for each in published[1].cells() if each.key == key)
            assert published[1].target == target
            # Whose turn it is depends on when the test runs: theirs is the share of a sample. By chance, a number is
            # more than five standard errors off in 6 of 10^7 runs.
            drawn = 0.0 if self.collection.rotate is None else share * (1.0 - share) / asked[1]
            error = math.hypot((cell.standard_error or 0.0) / published[1].look.scale, math.sqrt(drawn))
            within = max(0.1, 0.15 * share, 5.0 * error)
            assert cell.estimate / published[1].look.scale == pytest.approx(share, abs=within)
        again = await compare(self.collection, settings=self.settings, window_ms=self.window(1))
        assert [each.differences for each in again] == [()]
        letters = await self.records(self.names.dead_letters(self.collection.name))
        reasons = Counter(dict(letter.headers)["reason"].decode() for letter in letters)
        assert reasons == {Reason.TOO_SHORT.value: 1, Reason.LATE.value: 1}
        expected_rows = {row.key: row.to_bytes() for answer in finals.values() for row in rows_of(answer)}
        log = await self.records(self.names.rows(self.collection))
        assert {(record.key, record.value) for record in log} == set(expected_rows.items())
        if records:
            log = await self.records(self.names.records(self.collection.name))
            assert {record.value for record in log} == set(records)


@pytest.mark.timeout(400)
@pytest.mark.parametrize("forms", [False, pytest.param(True, marks=pytest.mark.long)], ids=["kinds", "forms"])
async def test_finals_of_a_killed_worker_are_those_of_one_computation(
    tmp_path: Path, kafka: EmbeddedKafka, prefix: str, monkeypatch: pytest.MonkeyPatch, *, forms: bool
) -> None:
    """One worker serves a collection of each kind, and is killed while windows and an epoch are open."""
    monkeypatch.setitem(KINDS, COIN.name, COIN)
    texts = {name: subject.text_on_kafka for name, subject in (FORMS if forms else SUBJECTS).items()}
    if not forms:
        texts["turns"] = f"{next(iter(texts.values()))}rotate: 3\n"
    served, deployments, users = await deployed(tmp_path, texts, brokers=kafka.bootstrap, prefix=prefix)
    epochs = [next_epoch(each.deployment) for each in users]

    async def answer(phase: int) -> None:
        """Let users answer a round once it is asked."""
        for each, epoch in zip(users, epochs, strict=True):
            await each.answer(await each.deployment.round(epoch, phase))

    with served.worker(program=REPOSITORY / "tests" / "toy.py") as worker:
        await worker.ready()
        await asyncio.gather(answer(1), *(each.begin() for each in deployments))
        for each, epoch in zip(users, epochs, strict=True):
            await each.deployment.round(epoch, 2)
        worker.signal(signal.SIGKILL)
        await worker.ended()
    with served.worker(program=REPOSITORY / "tests" / "toy.py") as worker:
        await worker.ready()
        await asyncio.gather(answer(2), *(each.go_on() for each in deployments))
        for each, epoch in zip(users, epochs, strict=True):
            phases = each.deployment.collection.schedule.phases
            for phase in range(3, phases + 1):
                await each.answer(await each.deployment.round(epoch, phase))
            await each.deployment.final(epoch, phases)
        _, metrics = await worker.get("/metrics")
    for deployment in deployments:
        late = f'reports_late_total{{collection="{deployment.collection.name}"}} 1.0'
        assert late in metrics, deployment.collection.name
        await deployment.assert_answered()
    for each, epoch in zip(users, epochs, strict=True):
        await each.deployment.assert_published(epoch, reports=each.told)


async def deployed(
    tmp_path: Path, texts: dict[str, str], *, brokers: str, prefix: str
) -> tuple[Played, list[Played], list[Users]]:
    """Create the topics of a collection of each text, by its name.

    Returns:
        What one worker serves, and who reports to what.
    """
    first, *others = texts
    served = await Played.create(
        tmp_path, brokers=brokers, prefix=prefix, name=first, text=texts[first], partitions=PARTITIONS
    )
    for name in others:
        served = await served.beside_another(name=name, text=texts[name], partitions=PARTITIONS)
    deployments: list[Played] = []
    users: list[Users] = []
    for file in served.files:
        collection: Any = load_collection(file)
        if kind_of(collection).rounds is None:
            deployments.append(replace(served, file=file, others=(), collection=collection))
        else:
            of_items = ItemDeployment(**{each.name: getattr(served, each.name) for each in fields(served)})
            held = FORMS.get(collection.name, SUBJECTS[kind_of(collection).name]).users(USERS)
            sets = ItemSets.of([collection.encode(each) for each in held])
            users.append(
                Users(deployment=replace(of_items, file=file, others=(), collection=collection), sets=sets, seed=1)
            )
    return served, deployments, users
