"""Tests that a worker on a real Kafka serves collections of views, also one that is killed and comes back."""

from __future__ import annotations

import asyncio
import signal
import time
from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from stream_ldp.client.reporter import Reporter
from stream_ldp.client.subscriber import Subscriber
from stream_ldp.pipeline import wire
from stream_ldp.pipeline.windows import pane_of
from stream_ldp.questions.layout import QuestionLayout
from stream_ldp.synthesis.chunk import SyntheticChunk
from stream_ldp.synthesis.publication import published
from stream_ldp.views.collection import ViewsCollection
from stream_ldp.views.solve import solve
from tests.service.harness import Deployment
from tests.views.examples import TEXT, joint_of, task_of, users

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from stream_ldp.kafka.embedded import EmbeddedKafka
    from stream_ldp.records.answer import Estimate

CARE = (
    TEXT.replace("collection: care", "collection: {name}")
    .replace("{{size: 10s", "{{size: 2s")
    .replace("{mechanism}", "epsilon: 4, ask: pairs")
    .replace("{window}", ", idle_timeout: 2s, returning: 0")
    .replace("{estimates}", "[{{name: care, of: [bathes, walks]}}, {{name: all, of: [diet, walks, bathes]}}]")
    # In two chunks.
    + "synthesis: {{records: 60000, seed: 3}}\n"
)


class ViewsDeployment(Deployment):
    """One collection of views."""

    collection: ViewsCollection

    async def finals_of(self, reports: int, *, within: float = 90.0) -> list[Estimate]:
        """The finals of windows with reports, each once, when they hold so many."""
        async with asyncio.timeout(within):
            while True:
                found = [each for each in await self.estimates() if each.final and each.reports]
                finals = {(each.estimate, each.window.start_ms): each for each in found}
                if sum(each.reports for each in finals.values()) >= 2 * reports:
                    return [each for _, each in sorted(finals.items())]
                await asyncio.sleep(0.3)

    async def estimates(self) -> list[Estimate]:
        """What an ordinary subscriber to estimates receives."""
        subscriber = Subscriber(
            self.collection.name, Estimate, settings=self.settings, from_beginning=True, follow=False
        )
        async with subscriber:
            return [estimate async for estimate in subscriber]

    async def chunks(self) -> list[SyntheticChunk]:
        """What an ordinary subscriber to records receives, of the windows that have a final."""
        subscriber = Subscriber(
            self.collection.name, SyntheticChunk, settings=self.settings, from_beginning=True, follow=False
        )
        async with subscriber:
            return [chunk async for chunk in subscriber]

    async def windows(self) -> dict[int, NDArray[np.int64]]:
        """The sums of each window, as one computation gives them from all batches on the log."""
        windows: dict[int, list[NDArray[np.uint8]]] = defaultdict(list)
        formats = {self.collection.fingerprint: QuestionLayout(self.collection)}
        for record in await self.records(self.names.reports(self.collection.name)):
            decoded = wire.decode([record.value], formats=formats)
            windows[pane_of(int(decoded.time_ms[0]), self.collection.window)].append(decoded.rows[0])
        questions = self.collection.questions
        return {start: questions.sums(np.concatenate(rows)) for start, rows in sorted(windows.items())}

    async def computed(self) -> list[Estimate]:
        """The finals that follow from these sums, each from the one before."""
        windows = await self.windows()
        finals: list[Estimate] = []
        for series in sorted(self.collection.series, key=lambda each: each.name):
            before = None
            for start, sums in windows.items():
                task = task_of(self.collection, series, sums, window_ms=start)
                before = solve(self.collection, replace(task, before=before))
                finals.append(before)
        return finals

    async def synthesized(self) -> list[tuple[bytes, bytes]]:
        """The keys and values of the records that follow from these sums, and from the finals before."""
        series = self.collection.series[0]
        records: list[tuple[bytes, bytes]] = []
        earlier: dict[str, Estimate] = {}
        finals = await self.computed()
        for start, sums in (await self.windows()).items():
            of_window = {each.estimate: each for each in finals if each.window.start_ms == start}
            task = task_of(self.collection, series, sums, window_ms=start)
            chunks = published(self.collection, task, of_window[series.name], earlier=earlier)
            records += [(chunk.key, chunk.to_bytes()) for chunk in chunks]
            earlier = of_window
        return records


@pytest.fixture
async def deployment(tmp_path: Path, kafka: EmbeddedKafka, prefix: str) -> ViewsDeployment:
    return await ViewsDeployment.create(tmp_path, brokers=kafka.bootstrap, prefix=prefix, text=CARE)


@pytest.mark.long
async def test_the_finals_and_records_of_a_worker_that_is_killed_are_those_of_one_computation(
    deployment: ViewsDeployment,
) -> None:
    people = users(6_000)
    halves = np.split(people, 2)
    with deployment.worker() as first:
        await first.ready()
        async with Reporter(deployment.collection, settings=deployment.settings, max_reports=100) as reporter:
            for part in np.split(halves[0], 6):
                await reporter.report_many(part, secrets=None)
                await asyncio.sleep(0.5)
        first.signal(signal.SIGKILL)
        await first.ended()
    with deployment.worker() as second:
        await second.ready()
        begun = time.monotonic()
        async with Reporter(deployment.collection, settings=deployment.settings, max_reports=100) as reporter:
            for part in np.split(halves[1], 6):
                await reporter.report_many(part, secrets=None)
                await asyncio.sleep(0.5)
        finals = await deployment.finals_of(6_000, within=90 - (time.monotonic() - begun))
        expected = await deployment.synthesized()
        async with asyncio.timeout(60):
            while len(chunks := await deployment.chunks()) < len(expected):
                await asyncio.sleep(0.3)
    assert finals == await deployment.computed()
    assert [(each.key, each.to_bytes()) for each in chunks] == expected
    assert {each.chunks for each in chunks} == {2}
    log = await deployment.records(deployment.names.records(deployment.collection.name))
    assert {(record.key, record.value) for record in log} == set(expected), "each copy of a chunk has the same bytes"
    care = [each for each in finals if each.estimate == "care"]
    assert sum(each.reports for each in care) == 6_000
    found = np.average([each.joint() for each in care], axis=0, weights=[each.reports for each in care])
    # A pair has a thousand answers, with a standard error of a cell of .02.
    assert found == pytest.approx(joint_of(people, (1, 0)), abs=0.1)
