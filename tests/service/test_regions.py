"""Tests of a deployment of several regions: mergers without a broker, then workers on two clusters and a mirror."""

import asyncio
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stream_ldp.kafka.embedded import EmbeddedKafka
from stream_ldp.kafka.memory import connected
from stream_ldp.kafka.settings import Settings
from stream_ldp.kinds import solve
from stream_ldp.pipeline import partials
from stream_ldp.pipeline.answer import RegionState
from stream_ldp.pipeline.content_type import STAYS
from stream_ldp.pipeline.merge_checkpoint import file_digest
from stream_ldp.pipeline.partials import CutOff
from stream_ldp.pipeline.statistics import RowCounts
from stream_ldp.pipeline.window_task import WindowTask
from stream_ldp.records.answer import Estimate
from stream_ldp.service import collection_merger
from stream_ldp.service.merger import Merger
from stream_ldp.service.metrics import Metrics
from tests.pipeline.test_merging import partial, watermark
from tests.service.harness import JointDeployment, WorkerProcess, batches
from tests.service.mergers import SMALL, SOON, Installation, rebuilt
from tests.service.mirror import Mirror
from tests.service.mirror_maker import MirrorMaker

HOME = Settings.load(region="eu", regions="eu,us=1s")
SIZE_MS, CLOSES_MS = SMALL.window.size_ms, SMALL.window.size_ms + SMALL.window.grace_ms


class Home(Installation):
    """The home of two regions on a broker in memory; `decided` are the regions that it goes on without."""

    def merger(self) -> Merger:
        return Merger(
            [SMALL],
            settings=HOME,
            producer=self.published,  # type: ignore[arg-type]
            writers=self.published.writer,
            cluster=self._cluster,  # type: ignore[arg-type]
            metrics=self._metrics,
        )

    async def counted(self, region: str, reports: int, *mergers: Merger, window: int = 0, end: int = 10) -> None:
        spec, pane_ms = SMALL.estimates[0], window * SIZE_MS
        await self.tell(
            partial(reports, collection=SMALL, spec=spec, region=region, pane_ms=pane_ms, end=end), *mergers
        )

    async def closed(self, region: str, *mergers: Merger, window: int = 0) -> None:
        mark = watermark(window * SIZE_MS + CLOSES_MS, collection=SMALL)
        await self.tell(replace(mark, region=region, file=file_digest(SMALL)), *mergers)

    async def decision(self) -> CutOff:
        """Wait for the decision to go on without a region."""
        while True:
            for record in self.published.records:
                found = partials.decode(record.value) if record.topic == HOME.topic_names.partials else None
                if isinstance(found, CutOff):
                    return found
            await asyncio.sleep(0.01)

    async def finals(self, number: int) -> list[Estimate]:
        await self.published.finals_of(SMALL, number=number)
        topic = HOME.topic_names.answers(SMALL)
        return [Estimate.from_bytes(record.value) for record in self.published.records if record.topic == topic]


@pytest.fixture
def home(metrics: Metrics, monkeypatch: pytest.MonkeyPatch) -> Iterator[Home]:
    monkeypatch.setattr(collection_merger, "REGION_SECONDS", 0.05)
    found = Home(metrics)
    with connected(found.broker):
        yield found


async def test_windows_go_on_without_a_region_and_finals_say_so(home: Home, metrics: Metrics) -> None:
    merger = home.merger()
    await merger.take_over(set(range(64)))
    await rebuilt(merger)
    await home.counted("us", 3, merger)
    await home.counted("eu", 4, merger)
    await home.closed("eu", merger)
    async with asyncio.timeout(SOON):
        decided = await home.decision()
        assert (decided.region, decided.time_ms) == ("us", CLOSES_MS)
        assert not [record for record in home.published.records if record.topic.endswith(".estimates")]
        await home.tell(decided, merger)
        (final,) = await home.finals(1)
    assert final.reports == 7
    assert final.sources is not None
    assert [(part.region, part.state, part.reports) for part in final.sources] == [
        ("eu", RegionState.WHOLE, 4),
        ("us", RegionState.CUT_OFF, 3),
    ]
    # It is back, with reports to the window that is answered and to the next one.
    await home.counted("us", 5, merger, end=20)
    await home.counted("us", 2, merger, window=1)
    await home.closed("us", merger)
    await home.closed("us", merger, window=1)
    await home.closed("eu", merger, window=1)
    async with asyncio.timeout(SOON):
        final = (await home.finals(2))[-1]
    assert final.reports == 2
    assert final.sources is not None
    assert {part.state for part in final.sources} == {RegionState.WHOLE}
    assert metrics.merge.region_reports_late.labels("small", "us")._value.get() == 2
    async with asyncio.timeout(SOON):
        while metrics.merge.region_cut_off.labels("small", "us")._value.get():
            await asyncio.sleep(0.01)
    await merger.on_stop()


async def test_a_merge_that_dies_after_its_decision_is_followed_by_one_that_decides_alike(home: Home) -> None:
    first = home.merger()
    await first.take_over(set(range(64)))
    await rebuilt(first)
    await home.counted("us", 3, first)
    await home.counted("eu", 4, first)
    await home.closed("eu", first)
    async with asyncio.timeout(SOON):
        decided = await home.decision()
    await first.on_stop()
    # The decision is on the log, and the final is not; then the region comes back.
    await home.tell(decided)
    await home.counted("us", 9, end=20)
    await home.closed("us")
    second = home.merger()
    await second.take_over(set(range(64)))
    async with asyncio.timeout(SOON):
        (final,) = await home.finals(1)
    assert final.reports == 7
    assert final.sources is not None
    assert [part.state for part in final.sources] == [RegionState.WHOLE, RegionState.CUT_OFF]
    await second.on_stop()


async def test_partials_of_an_unknown_region_are_dead_letters_with_a_cure(home: Home, metrics: Metrics) -> None:
    merger = home.merger()
    await merger.take_over(set(range(64)))
    await rebuilt(merger)
    await home.counted("ap", 3, merger)
    async with asyncio.timeout(SOON):
        while not home.published.records:
            await asyncio.sleep(0)
    (letter,) = [record for record in home.published.records if record.topic.endswith(".dead-letters")]
    headers = dict(letter.headers)
    assert headers["reason"] == b"unreadable_record"
    assert b"region 'ap', and this merge has the regions eu, us -> mend the setting region" in headers["detail"]
    assert metrics.records_passed_over.labels("small", "partials")._value.get() == 1
    assert merger.problems() == []
    await merger.on_stop()


# On two clusters.


class Regions:
    """Two deployments of one collection: the home, and a region whose partials a mirror copies there."""

    def __init__(self, home: JointDeployment, away: JointDeployment) -> None:
        self.home, self.away = home, away

    def worker(self, deployment: JointDeployment, *, waits: str = "10s", **environment: str) -> WorkerProcess:
        regions = {"STREAM_LDP_REGIONS": f"eu,us={waits}"} if deployment is self.home else {}
        region = "eu" if deployment is self.home else "us"
        return deployment.worker(environment={"STREAM_LDP_REGION": region, **regions, **environment})

    def mirror(self) -> Mirror:
        return Mirror(self.home.names.partials, source=self.away.settings, target=self.home.settings)

    async def feed(self, *, seconds: float) -> None:
        """Report in both regions for so many seconds, in windows that have not ended yet."""
        rng, until = np.random.default_rng(1), time.monotonic() + seconds
        while time.monotonic() < until:
            now_ms = time.time_ns() // 1_000_000
            for each in (self.home, self.away):
                await each.send(batches(each.collection, [now_ms] * 8, reports=3, rng=rng))
            await asyncio.sleep(0.1)

    async def expected(self) -> dict[int, RowCounts]:
        """Count the reports of both regions, by windows, from their topics."""
        found = await self.home.expected()
        for window, counts in (await self.away.expected()).items():
            found[window] = found[window] + counts if window in found else counts
        return dict(sorted(found.items()))

    def assert_whole(self, finals: Sequence[Estimate], expected: dict[int, RowCounts]) -> None:
        """Check that finals are those of all reports of both regions, to the byte."""
        assert {final.window.start_ms: final.reports for final in finals} == {
            window: int(counts.reports) for window, counts in expected.items()
        }
        before = None
        for final in finals:
            assert final.sources is not None
            assert {part.state for part in final.sources} == {RegionState.WHOLE}
            task: WindowTask[Any, Any] = WindowTask(
                series=self.home.collection.estimates[0],
                window_ms=final.window.start_ms,
                final=True,
                windows=((1.0, (expected[final.window.start_ms],)),),
                before=before,
            )
            before = solve(self.home.collection, task)
            assert final.with_sources(None).to_bytes() == before.to_bytes()


@pytest.fixture
async def regions(tmp_path: Path, kafka: EmbeddedKafka, elsewhere: EmbeddedKafka, prefix: str) -> Regions:
    made = []
    for name, broker in (("eu", kafka), ("us", elsewhere)):
        directory = tmp_path / name
        directory.mkdir()
        made.append(await JointDeployment.create(directory, brokers=broker.bootstrap, prefix=prefix))
    # One is given a file, and the other one follows the registry.
    made[1].follows = True
    return Regions(*made)


@pytest.mark.long
async def test_two_clusters_answer_as_one_although_workers_are_killed_and_the_mirror_stops(regions: Regions) -> None:
    """The quick siblings are above, and in tests/pipeline/test_region_watermarks.py."""
    async with AsyncExitStack() as stack:
        home, away = (stack.enter_context(regions.worker(each)) for each in (regions.home, regions.away))
        await asyncio.gather(home.ready(), away.ready())
        async with regions.mirror():
            feeding = asyncio.create_task(regions.feed(seconds=12.0))
            await asyncio.sleep(3.0)
            away.signal(signal.SIGKILL)
            next_one = stack.enter_context(regions.worker(regions.away))
            await asyncio.sleep(4.0)
            # The next one at home reads of owners in the region that came one after the other.
            home.signal(signal.SIGKILL)
            stack.enter_context(regions.worker(regions.home))
        # The mirror is gone for less than windows wait for the region.
        await asyncio.sleep(2.0)
        async with regions.mirror():
            await feeding
            expected = await regions.expected()
            finals = await regions.home.finals_of(sum(int(each.reports) for each in expected.values()))
        regions.assert_whole(finals, expected)
        # The region has counted and merged nothing, and no report has left it.
        assert await regions.away.finals() == []
        assert next_one.process.poll() is None


@pytest.mark.long
@pytest.mark.timeout(600)
async def test_kafkas_own_mirror_copies_what_the_home_needs_and_nothing_else(
    regions: Regions, tmp_path: Path
) -> None:
    """It is set up as the page says. The quick sibling is above, with a mirror of 30 lines."""
    async with AsyncExitStack() as stack:
        workers = [
            stack.enter_context(regions.worker(each, waits="5m", STREAM_LDP_SAVE_RECORDS="10"))
            for each in (regions.home, regions.away)
        ]
        await asyncio.gather(*(each.ready() for each in workers))
        async with MirrorMaker(tmp_path, home=regions.home.settings, away=regions.away.settings):
            await regions.feed(seconds=6.0)
            expected = await regions.expected()
            number = sum(int(each.reports) for each in expected.values())
            finals = await regions.home.finals_of(number, within=240.0)
        regions.assert_whole(finals, expected)
    written, copied = [
        [record for record in await each.records(each.names.partials) if b'"region":"us"' in record.value]
        for each in (regions.away, regions.home)
    ]
    assert any(STAYS in each.headers for each in written)
    assert copied
    assert not any(STAYS in each.headers for each in copied)
