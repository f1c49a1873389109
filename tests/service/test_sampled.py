"""Tests that a worker on a real Kafka serves sampled collections, also one that is killed and comes back."""

from __future__ import annotations

import asyncio
import signal
import time
from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np
import pytest

from stream_ldp.client.reporter import Reporter
from stream_ldp.marginals.answer import Frequencies, Marginals
from stream_ldp.marginals.collection import SampledCollection
from stream_ldp.pipeline import wire
from stream_ldp.pipeline.windows import pane_of
from stream_ldp.questions.layout import QuestionLayout
from tests.marginals.examples import TEXT, solved, sums_of, users
from tests.service.harness import Deployment

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from stream_ldp.kafka.embedded import EmbeddedKafka

DIETS = TEXT.replace("collection: diets", "collection: {name}").replace("{{size: 10s", "{{size: 2s")


class SampledDeployment(Deployment):
    """One sampled collection."""

    collection: SampledCollection

    async def finals(self) -> list[Marginals]:
        """The final marginals on the log, in its order."""
        records = await self.records(self.names.answers(self.collection))
        return [marginals for record in records if (marginals := Marginals.from_bytes(record.value)).final]

    async def finals_of(self, reports: int, *, within: float = 90.0) -> list[Marginals]:
        """The finals of windows with reports, each once, when they hold so many."""
        async with asyncio.timeout(within):
            while True:
                finals = {each.window.start_ms: each for each in await self.finals() if each.reports}
                if sum(each.reports for each in finals.values()) >= reports:
                    return [each for _, each in sorted(finals.items())]
                await asyncio.sleep(0.3)

    async def computed(self) -> list[Marginals]:
        """The finals as one computation gives them from all batches on the log."""
        windows: dict[int, list[NDArray[np.uint8]]] = defaultdict(list)
        formats = {self.collection.fingerprint: QuestionLayout(self.collection)}
        for record in await self.records(self.names.reports(self.collection.name)):
            decoded = wire.decode([record.value], formats=formats)
            windows[pane_of(int(decoded.time_ms[0]), self.collection.window)].append(decoded.rows[0])
        found = []
        for start, rows in sorted(windows.items()):
            marginals = solved(self.collection, (1.0, sums_of(self.collection, np.concatenate(rows))))
            bounds = marginals.window.model_copy(
                update={"start_ms": start, "end_ms": start + self.collection.window.size_ms}
            )
            found.append(marginals.model_copy(update={"window": bounds}))
        return found


@pytest.fixture
async def deployment(tmp_path: Path, kafka: EmbeddedKafka, prefix: str) -> SampledDeployment:
    text = DIETS.replace("{mechanism}", "epsilon: 4").replace("{window}", ", idle_timeout: 2s")
    return await SampledDeployment.create(tmp_path, brokers=kafka.bootstrap, prefix=prefix, text=text)


async def test_the_finals_of_a_worker_that_is_killed_are_those_of_one_computation(
    deployment: SampledDeployment,
) -> None:
    people = users(6_000)
    reporter = Reporter(deployment.collection, settings=deployment.settings, max_reports=100)
    with deployment.worker() as first:
        await first.ready()
        async with reporter:
            for part in np.split(people[:3_000], 6):
                await reporter.report_many(part, secrets=None)
                await asyncio.sleep(0.5)
        first.signal(signal.SIGKILL)
        await first.ended()
    with deployment.worker() as second:
        await second.ready()
        begun = time.monotonic()
        reporter = Reporter(deployment.collection, settings=deployment.settings, max_reports=100)
        async with reporter:
            for part in np.split(people[3_000:], 6):
                await reporter.report_many(part, secrets=None)
                await asyncio.sleep(0.5)
        finals = await deployment.finals_of(6_000, within=90 - (time.monotonic() - begun))
    assert finals == await deployment.computed()
    assert sum(each.reports for each in finals) == 6_000
    diets = [each.of("diet") for each in finals]
    shares = [each.estimate.raw[0] for each in diets if isinstance(each.estimate, Frequencies)]
    # A third of 6,000 users; the standard error is 0.012.
    weights = [each.reports for each in diets if each.estimate is not None]
    assert np.average(shares, weights=weights) == pytest.approx((people["0"] == 0).mean(), abs=0.08)
