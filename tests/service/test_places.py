"""Tests that a worker on a real Kafka serves collections of places, also one that is killed and comes back."""

from __future__ import annotations

import asyncio
import signal
from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np
import pytest

from stream_ldp.client.reporter import Reporter
from stream_ldp.pipeline import wire
from stream_ldp.pipeline.windows import pane_of
from stream_ldp.places.answer import PlaceCounts
from stream_ldp.places.collection import PlaceCollection
from stream_ldp.questions.layout import QuestionLayout
from tests.places.examples import TEXT, solved, sums_of, users
from tests.service.harness import Deployment

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from stream_ldp.kafka.embedded import EmbeddedKafka
    from stream_ldp.questions.questions import Table

VISITS = TEXT.replace("collection: visits", "collection: {name}").replace("{{size: 10s", "{{size: 2s")


class PlaceDeployment(Deployment):
    """One collection of places."""

    collection: PlaceCollection

    async def finals_of(self, reports: int, *, within: float) -> list[PlaceCounts]:
        """The finals of windows with reports, each once, when they hold so many."""
        async with asyncio.timeout(within):
            while True:
                records = await self.records(self.names.answers(self.collection))
                counts = [PlaceCounts.from_bytes(record.value) for record in records]
                finals = {each.window.start_ms: each for each in counts if each.final and each.reports}
                if sum(each.reports for each in finals.values()) >= reports:
                    return [each for _, each in sorted(finals.items())]
                await asyncio.sleep(0.3)

    async def computed(self) -> list[PlaceCounts]:
        """The finals as one computation gives them from all batches on the log."""
        windows: dict[int, list[NDArray[np.uint8]]] = defaultdict(list)
        formats = {self.collection.fingerprint: QuestionLayout(self.collection)}
        for record in await self.records(self.names.reports(self.collection.name)):
            decoded = wire.decode([record.value], formats=formats)
            windows[pane_of(int(decoded.time_ms[0]), self.collection.window)].append(decoded.rows[0])
        found = []
        for start, rows in sorted(windows.items()):
            counts = solved(self.collection, (1.0, sums_of(self.collection, np.concatenate(rows))))
            bounds = counts.window.model_copy(
                update={"start_ms": start, "end_ms": start + self.collection.window.size_ms}
            )
            found.append(counts.model_copy(update={"window": bounds}))
        return found


@pytest.mark.long
async def test_the_finals_of_a_worker_that_is_killed_are_those_of_one_computation(
    tmp_path: Path, kafka: EmbeddedKafka, prefix: str
) -> None:
    text = VISITS.replace("{mechanism}", "epsilon: [1, 4]").replace("{window}", ", idle_timeout: 2s")
    deployment = await PlaceDeployment.create(tmp_path, brokers=kafka.bootstrap, prefix=prefix, text=text)
    people = users(3_000)

    async def report(part: Table) -> None:
        async with Reporter(deployment.collection, settings=deployment.settings, max_reports=100) as reporter:
            for some in np.split(part, 3):
                await reporter.report_many(some, secrets=None)
                await asyncio.sleep(0.5)

    with deployment.worker() as first:
        await first.ready()
        await report(people[:1_500])
        first.signal(signal.SIGKILL)
        await first.ended()
    with deployment.worker() as second:
        await second.ready()
        await report(people[1_500:])
        finals = await deployment.finals_of(3_000, within=90)
    assert finals == await deployment.computed()
    assert sum(each.reports for each in finals) == 3_000
    everywhere = [sum(told.reports) for each in finals for told in each.regions if told.region == "everywhere"]
    assert sum(everywhere) == (people["1"] == 0).sum()
    # The standard error of `a` is about 35 users.
    assert sum(each.raw[0] for each in finals) == pytest.approx((people["0"] == 0).sum(), abs=250)
