"""Tests that a worker on a real Kafka serves collections of strings, also one that is killed and comes back."""

from __future__ import annotations

import asyncio
import signal
import time
from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np
import pytest

from stream_ldp.client.reporter import Reporter
from stream_ldp.pipeline import wire
from stream_ldp.pipeline.windows import pane_of
from stream_ldp.strings.answer import StringRanking
from stream_ldp.strings.collection import StringCollection
from stream_ldp.strings.layout import StringLayout
from tests.service.harness import Deployment
from tests.strings.examples import TEXT, counted, solved, users

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from stream_ldp.kafka.embedded import EmbeddedKafka

WORDS = (
    TEXT.format(
        mechanism="epsilon: 4, k: 8",
        string="length: 6, alphabet: abcdefghijklmnopqrstuvwxyz",
        window=", idle_timeout: 2s",
        more="",
    )
    .replace("size: 10s", "size: 2s")
    .replace("{", "{{")
    .replace("}", "}}")
    .replace("collection: words", "collection: {name}")
)


class StringDeployment(Deployment):
    """One collection of strings."""

    collection: StringCollection

    async def finals(self) -> list[StringRanking]:
        """The final rankings on the log, in its order."""
        records = await self.records(self.names.answers(self.collection))
        return [ranking for record in records if (ranking := StringRanking.from_bytes(record.value)).final]

    async def finals_of(self, reports: int, *, within: float = 90.0) -> list[StringRanking]:
        """The finals of windows with reports, each once, when they hold so many."""
        async with asyncio.timeout(within):
            while True:
                finals = {each.window.start_ms: each for each in await self.finals() if each.reports}
                if sum(each.reports for each in finals.values()) >= reports:
                    return [each for _, each in sorted(finals.items())]
                await asyncio.sleep(0.3)

    async def computed(self) -> list[StringRanking]:
        """The finals as one computation gives them from all batches on the log."""
        windows: dict[int, list[NDArray[np.uint8]]] = defaultdict(list)
        formats = {self.collection.fingerprint: StringLayout(self.collection)}
        for record in await self.records(self.names.reports(self.collection.name)):
            decoded = wire.decode([record.value], formats=formats)
            windows[pane_of(int(decoded.time_ms[0]), self.collection.window)].append(decoded.rows[0])
        found = []
        for start, rows in sorted(windows.items()):
            ranking = solved(self.collection, (1.0, [counted(self.collection, np.concatenate(rows))]))
            bounds = ranking.window.model_copy(
                update={"start_ms": start, "end_ms": start + self.collection.window.size_ms}
            )
            found.append(ranking.model_copy(update={"window": bounds}))
        return found


@pytest.fixture
async def deployment(tmp_path: Path, kafka: EmbeddedKafka, prefix: str) -> StringDeployment:
    return await StringDeployment.create(tmp_path, brokers=kafka.bootstrap, prefix=prefix, text=WORDS)


@pytest.mark.long
async def test_the_finals_of_a_worker_that_is_killed_are_those_of_one_computation(
    deployment: StringDeployment,
) -> None:
    people = users(deployment.collection, 6_000)
    with deployment.worker() as first:
        await first.ready()
        async with Reporter(deployment.collection, settings=deployment.settings, max_reports=100) as reporter:
            for part in np.split(people[:3_000], 4):
                await reporter.report_many(part, secrets=None)
                await asyncio.sleep(0.4)
        first.signal(signal.SIGKILL)
        await first.ended()
    with deployment.worker() as second:
        await second.ready()
        begun = time.monotonic()
        async with Reporter(deployment.collection, settings=deployment.settings, max_reports=100) as reporter:
            for part in np.split(people[3_000:], 4):
                await reporter.report_many(part, secrets=None)
                await asyncio.sleep(0.4)
        finals = await deployment.finals_of(6_000, within=90 - (time.monotonic() - begun))
    assert finals == await deployment.computed()
    assert sum(each.reports for each in finals) == 6_000
    # Two in five users have it, and a window has hundreds of them; the error of its share is a few hundredths.
    told = {each.strings[0].string for each in finals if each.strings and each.reports > 1_000}
    assert told == {"apple"}
