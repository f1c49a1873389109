"""Tests that a worker on a real Kafka serves collections whose reports are linked, also one that is killed."""

import asyncio
import signal
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from stream_ldp.client.reporter import Reporter
from stream_ldp.client.subscriber import Subscriber
from stream_ldp.kafka.embedded import EmbeddedKafka
from stream_ldp.kinds import solve
from stream_ldp.pipeline import wire
from stream_ldp.pipeline.statistics import RowCounts
from stream_ldp.pipeline.window_task import WindowTask
from stream_ldp.pipeline.windows import pane_of
from stream_ldp.records.answer import Estimate
from stream_ldp.records.layout import JointLayout
from stream_ldp.records.series import EstimateSpec
from stream_ldp.synthesis.chunk import SyntheticChunk
from stream_ldp.synthesis.publication import published
from tests.service.harness import SURVEY, JointDeployment

LINKED = SURVEY + "linked: 6s\nsynthesis: {{records: 500, seed: 3}}\n"
USERS = 300


class LinkedDeployment(JointDeployment):
    """One collection whose reports are linked for three windows."""

    async def windows(self) -> dict[int, NDArray[np.uint8]]:
        """The rows of each window, from all batches on the log."""
        windows: dict[int, list[NDArray[np.uint8]]] = defaultdict(list)
        for record in await self.records(self.names.reports(self.collection.name)):
            decoded = wire.decode([record.value], formats={self.collection.fingerprint: JointLayout(self.collection)})
            windows[pane_of(int(decoded.time_ms[0]), self.collection.window)].append(decoded.rows[0])
        return {start: np.concatenate(rows) for start, rows in sorted(windows.items())}

    def task(
        self, series: EstimateSpec, windows: dict[int, NDArray[np.uint8]], start: int, before: Estimate | None
    ) -> WindowTask[Any, Any]:
        """Ask about a window: all windows of its period count, the newest first."""
        columns, size_ms = self.collection.row_bits_of(series.of), self.collection.window.size_ms

        def parts(each: int) -> tuple[RowCounts, ...]:
            if each not in windows:
                return ()
            bits = np.unpackbits(windows[each], axis=1, bitorder="little")[:, columns]
            return (RowCounts.of(np.packbits(bits, axis=1, bitorder="little"), bits=len(columns)),)

        of_period = range(start, start - start % 6_000 - 1, -size_ms)
        weighted = tuple((1.0, parts(each)) for each in of_period)
        return WindowTask(series=series, window_ms=start, final=True, windows=weighted, before=before)

    async def chunks(self) -> set[tuple[bytes, bytes]]:
        """What an ordinary subscriber to records receives."""
        options: dict[str, Any] = {"settings": self.settings, "from_beginning": True, "follow": False}
        async with Subscriber(self.collection.name, SyntheticChunk, **options) as chunks:
            return {(chunk.key, chunk.to_bytes()) async for chunk in chunks}

    async def computed(self) -> tuple[list[Estimate], set[tuple[bytes, bytes]]]:
        """The finals and the synthetic records that follow from what is on the log."""
        windows = await self.windows()
        finals, records = list[Estimate](), set[tuple[bytes, bytes]]()
        for start in windows:
            before = finals[-1] if finals else None
            final = solve(self.collection, self.task(self.collection.estimates[0], windows, start, before))
            assert isinstance(final, Estimate)
            finals.append(final)
            asked = self.task(self.collection.whole, windows, start, None)
            records |= {
                (chunk.key, chunk.to_bytes()) for chunk in published(self.collection, asked, final, earlier={})
            }
        return finals, records


@pytest.fixture
async def deployment(tmp_path: Path, kafka: EmbeddedKafka, prefix: str) -> LinkedDeployment:
    return await LinkedDeployment.create(tmp_path, brokers=kafka.bootstrap, prefix=prefix, text=LINKED)


@pytest.mark.long
async def test_what_a_worker_that_is_killed_publishes_of_linked_reports_is_that_of_one_computation(
    deployment: LinkedDeployment,
) -> None:
    secrets = [user.to_bytes(32, "big") for user in range(USERS)]
    table = np.stack([np.arange(USERS) % size for size in deployment.collection.sizes], axis=1)
    sent = 0

    async def report(seconds: float) -> None:
        """Let a random half of the users report every half second."""
        nonlocal sent
        rng = np.random.default_rng(sent)
        options: dict[str, Any] = {"settings": deployment.settings, "max_reports": 40}
        async with Reporter(deployment.collection, **options) as reporter:
            for _ in range(round(2 * seconds)):
                asked = rng.choice(USERS, USERS // 2, replace=False)
                await reporter.report_many(table[asked], secrets=[secrets[user] for user in asked])
                sent += len(asked)
                await asyncio.sleep(0.5)

    with deployment.worker() as first:
        await first.ready()
        await report(5)
        first.signal(signal.SIGKILL)
        await first.ended()
    with deployment.worker() as second:
        await second.ready()
        await report(5)
        finals = await deployment.finals_of(sent)
        expected, records = await deployment.computed()
        async with asyncio.timeout(60):
            while len(found := await deployment.chunks()) < len(records):
                await asyncio.sleep(0.3)
    once = {each.window.start_ms: each for each in finals if each.reports}
    assert all(once.get(each.window.start_ms) == each for each in finals if each.reports), "no two contents"
    assert [once[start] for start in sorted(once)] == expected
    assert found == records
    assert sum(each.reports for each in expected) == sent
    told = [each.linked for each in expected]
    assert all(each is not None and each.users <= USERS for each in told)
    assert max(each.reports for each in told if each is not None) > USERS, "some are made of several windows"
