"""Tests of the merge of one collection without a broker: what must hold whatever Kafka does."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Iterable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from aiokafka.errors import KafkaConnectionError

from stream_ldp.kafka.memory import connected
from stream_ldp.kafka.merge_commits import last_merge
from stream_ldp.kafka.producer import Record
from stream_ldp.kafka.settings import Settings
from stream_ldp.pipeline import partials
from stream_ldp.pipeline.answer import Status
from stream_ldp.pipeline.quarantine import LogEntry
from stream_ldp.pipeline.rows import rows_of
from stream_ldp.pipeline.topic_identity import TopicIdentity
from stream_ldp.records.answer import Estimate
from stream_ldp.records.collection import JointCollection
from stream_ldp.records.layout import JointLayout
from stream_ldp.service import collection_merger
from stream_ldp.service.merger import Merger
from stream_ldp.service.metrics import Metrics
from stream_ldp.service.windows_log import AnswersLog
from stream_ldp.synthesis.chunk import SyntheticChunk
from tests.pipeline.test_merging import partial, watermark
from tests.service.harness import SURVEY
from tests.service.mergers import (
    MAKING,
    SHY,
    SMALL,
    SOON,
    Installation,
    Published,
    ReportsTopics,
    entry,
    quick_answer,
    read,
    rebuilt,
    tell,
)


async def test_junk_becomes_a_dead_letter_that_names_its_place(merger: Merger, published: Published) -> None:
    await rebuilt(merger)
    await merger.apply(entry(SMALL, 7, b"junk", b"junk"))
    async with asyncio.timeout(SOON):
        while not published.records:
            await asyncio.sleep(0)
    letters = {record.topic: dict(record.headers) for record in published.records}
    # Both collections have the same partition, and it is not known which of them it is about.
    headers = letters["stream-ldp.small.dead-letters"]
    assert (headers["reason"], headers["source-topic"], headers["source-offset"]) == (
        b"unreadable_record",
        b"partials",
        b"7",
    )
    assert merger.problems() == []


async def test_a_flood_of_records_that_cannot_be_read_is_few_writes_and_few_lines(
    merger: Merger, published: Published, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A wait for each dead letter would hold up the partials of all collections."""
    writes: list[int] = []
    publish = published.publish

    async def counted(records: Iterable[Record]) -> None:
        records = list(records)
        writes.append(len(records))
        await publish(records)

    monkeypatch.setattr(published, "publish", counted)
    await rebuilt(merger)
    forged, number = entry(SMALL, 0, b"junk", b"junk"), 1_000
    caplog.clear()
    for offset in range(number):
        await merger.apply(replace(forged, offset=offset))
    await merger.on_stop()
    async with asyncio.timeout(SOON):
        while sum(writes) < number:
            await asyncio.sleep(0)
    assert len(writes) <= number / collection_merger.MAX_LETTERS + 1
    assert [dict(each.headers)["source-offset"] for each in published.records] == [b"%d" % n for n in range(number)]
    lines = [each.getMessage() for each in caplog.records if each.levelno >= logging.WARNING]
    assert len(lines) == 1
    assert "small: a partial is refused as unreadable_record, at partials partition " in lines[0]


def joins(partition: int, topic: TopicIdentity) -> partials.Watermark:
    """Make the watermark by which a partition joins the small collection."""
    return replace(watermark(0, collection=SMALL, partition=partition), time_ms=None, topic=topic)


async def test_a_merge_waits_for_a_partition_that_has_joined(
    merger: Merger, published: Published, reports_topics: ReportsTopics, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stream_ldp.merge_step.solve", quick_answer)
    await rebuilt(merger)
    merge, spec, size_ms = merger._owned["small"].merge, SMALL.estimates[0], SMALL.window.size_ms
    closes_ms = size_ms + SMALL.window.grace_ms
    reports_topics.topic = two = TopicIdentity(id="a1", partitions=2)
    await read(
        merger,
        SMALL,
        joins(1, two),
        partial(5, collection=SMALL, spec=spec),
        watermark(closes_ms, collection=SMALL),
    )
    assert merge.watermark_ms is None
    await read(
        merger,
        SMALL,
        partial(3, collection=SMALL, spec=spec, partition=1),
        watermark(closes_ms, collection=SMALL, partition=1),
    )
    async with asyncio.timeout(SOON):
        assert await published.finals_of(SMALL, number=1) == [8]


async def test_a_merge_does_not_wait_for_partitions_that_the_brokers_do_not_have(
    merger: Merger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collection_merger, "HEARSAY_SECONDS", 0.0)
    await rebuilt(merger)
    forged = TopicIdentity(id="a1", partitions=2**40)
    await read(merger, SMALL, replace(watermark(0, collection=SMALL), topic=forged))
    assert merger._owned["small"].merge.partitions == 1


async def test_a_merge_waits_for_no_partition_that_the_topic_lost_when_it_was_made_again(
    merger: Merger, reports_topics: ReportsTopics
) -> None:
    reports_topics.topic = old = TopicIdentity(id="a1", partitions=3)
    await rebuilt(merger)
    await read(merger, SMALL, joins(2, old))
    assert merger._owned["small"].merge.partitions == 3
    reports_topics.topic = new = TopicIdentity(id="b2", partitions=2)
    await read(merger, SMALL, joins(0, new))
    async with asyncio.timeout(SOON):
        while merger._owned["small"].merge.topic != new:
            await asyncio.sleep(0)
    await rebuilt(merger)
    await read(merger, SMALL, joins(2, old))
    assert merger._owned["small"].merge.partitions == 2


async def test_a_merge_that_is_rebuilt_once_more_waits_for_no_partition_of_a_topic_that_is_no_more(
    merger: Merger, reports_topics: ReportsTopics, monkeypatch: pytest.MonkeyPatch
) -> None:
    reports_topics.topic = TopicIdentity(id="a1", partitions=1)
    await rebuilt(merger)
    newest = TopicIdentity(id="c3", partitions=2)

    async def fail_once(*arguments: Any) -> Any:
        if reports_topics.topic != newest:
            reports_topics.topic = newest
            raise KafkaConnectionError
        return await last_merge(*arguments)

    monkeypatch.setattr(collection_merger, "last_merge", fail_once)
    reports_topics.topic = wide = TopicIdentity(id="b2", partitions=3)
    await read(merger, SMALL, joins(0, wide))
    async with asyncio.timeout(SOON):
        while merger._owned["small"].merge.topic.id != newest.id:
            await asyncio.sleep(0.01)
    await rebuilt(merger)
    assert merger._owned["small"].merge.topic == newest


async def test_small_windows_are_withheld(merger: Merger, published: Published, metrics: Metrics) -> None:
    await tell(merger, SHY, windows=5)  # of one to five reports
    assert await asyncio.wait_for(published.finals_of(SHY, number=3), SOON) == [3, 4, 5]
    assert {Estimate.from_bytes(record.value).reports for record in published.records} == {3, 4, 5}
    assert metrics.merge.windows_withheld.labels("shy")._value.get() == 2


async def test_a_window_of_too_few_users_does_not_hold_up_the_provisional_answers_of_the_next(
    published: Published, reports_topics: ReportsTopics, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stream_ldp.merge_step.solve", quick_answer)
    collection = JointCollection.parse(
        SURVEY.format(name="rare").replace("500ms", "1h").replace("min_reports: 1", "min_reports: 3")
    )
    merger = Merger(
        [collection],
        settings=Settings.load(),
        producer=published,  # type: ignore[arg-type]
        writers=published.writer,
        cluster=reports_topics,  # type: ignore[arg-type]
        metrics=Metrics(["rare"]),
    )
    few, enough = (
        partial(
            reports, collection=collection, spec=collection.estimates[0], pane_ms=number * collection.window.size_ms
        )
        for number, reports in enumerate((1, 5))
    )
    await merger.take_over(set(range(64)))
    # All before the first round of provisional answers, or the next round would be an hour later.
    for offset, each in enumerate((few, enough)):
        await merger.apply(entry(collection, offset, *partials.encode(each, writer="w")))
    async with asyncio.timeout(SOON):
        while not published.records:
            await asyncio.sleep(0.001)
    await merger.on_stop()
    assert [Estimate.from_bytes(each.value).reports for each in published.records] == [5]
    assert [each.topic for each in published.records] == ["stream-ldp.rare.provisional"], "where no finals are"


async def test_provisional_answers_that_are_due_together_are_solved_in_one_turn(
    published: Published, reports_topics: ReportsTopics, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stream_ldp.merge_step.solve", quick_answer)
    document = JointCollection.parse(SURVEY.format(name="many").replace("500ms", "100ms")).model_dump(mode="json")
    (spec,) = document["estimates"]
    document["estimates"] = [{**spec, "name": name} for name in ("one", "two", "three")]
    collection, metrics = JointCollection.model_validate(document), Metrics(["many"])
    merger = Merger(
        [collection],
        settings=Settings.load(),
        producer=published,  # type: ignore[arg-type]
        writers=published.writer,
        cluster=reports_topics,  # type: ignore[arg-type]
        metrics=metrics,
    )
    await merger.take_over(set(range(64)))
    async with asyncio.timeout(SOON):
        for reports in (1, 2):
            counted = partial(reports, collection=collection, spec=collection.estimates[0], end=10 + reports)
            await read(merger, collection, counted)
            while len(published.records) < 3 * reports:
                await asyncio.sleep(0.001)
    await merger.on_stop()
    value = metrics.registry.get_sample_value
    solves, turns = (f"stream_ldp_solve_{each}_seconds_count" for each in ("duration", "wait"))
    # At first it is not known how long each takes.
    assert [value(each, {"collection": "many"}) for each in (solves, turns)] == [6, 4]


async def test_a_window_without_reports_is_said_counted_and_logged_and_the_next_final_follows_it(
    merger: Merger, published: Published, caplog: pytest.LogCaptureFixture
) -> None:
    await tell(merger, SMALL, windows=1)
    await asyncio.wait_for(published.finals_of(SMALL, number=1), SOON)
    size_ms = SMALL.window.size_ms
    await read(merger, SMALL, watermark(3 * size_ms + SMALL.window.grace_ms, collection=SMALL))
    assert await asyncio.wait_for(published.finals_of(SMALL, number=2), SOON) == [1, 0]
    silent = Estimate.from_bytes(published.records[-1].value)
    assert (silent.status, silent.window.start_ms, silent.window.end_ms) == (Status.NO_REPORTS, size_ms, 2 * size_ms)
    await read(
        merger,
        SMALL,
        partial(3, collection=SMALL, spec=SMALL.estimates[0], pane_ms=4 * size_ms),
        watermark(5 * size_ms + SMALL.window.grace_ms, collection=SMALL),
    )
    assert await asyncio.wait_for(published.finals_of(SMALL, number=4), SOON) == [1, 0, 0, 3]
    rest = Estimate.from_bytes(published.records[-2].value)
    assert (rest.window.start_ms, rest.window.end_ms) == (2 * size_ms, 4 * size_ms)
    assert Estimate.from_bytes(published.records[-1].value).fit.start == "previous"
    assert merger._metrics.merge.windows_silent.labels("small")._value.get() == 2
    assert merger._metrics.merge.epochs_without_result.labels("small")._value.get() == 0
    assert merger._metrics.merge.last_final.labels("small")._value.get() > 1e9
    assert "small/bathing-mobility: nobody reported in 1970-01-01T00:00:02Z/1970-01-01T00:00:04Z" in caplog.text


async def test_a_merger_to_which_nothing_comes_commits_and_then_waits_without_end(
    merger: Merger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 300 such collections, each look at nothing would be ten a second."""
    waits: list[float | None] = []
    await rebuilt(merger)
    owned = merger._owned["small"]
    pause, now = owned._pause, time.monotonic()

    async def paused(seconds: float | None) -> None:
        nonlocal now
        waits.append(seconds)
        if seconds is None:
            await pause(None)
        else:
            # The clock of the merger goes on only here, so the order of its waits is the same at every load.
            await asyncio.sleep(0)
            now += seconds

    monkeypatch.setattr(collection_merger, "time", SimpleNamespace(monotonic=lambda: now, time=time.time))
    monkeypatch.setattr(owned, "_pause", paused)
    await tell(merger, SMALL, windows=1)
    async with asyncio.timeout(SOON):
        while None not in waits:
            await asyncio.sleep(0.001)
        assert owned.committed is not None
        waits.clear()
        await read(merger, SMALL, watermark(SMALL.window.size_ms, collection=SMALL))
        while None not in waits:
            await asyncio.sleep(0.001)
    assert waits == [collection_merger.COMMIT_SECONDS, None]


@pytest.mark.parametrize("steps", range(4))
async def test_a_merger_that_is_woken_as_it_is_cancelled_ends(merger: Merger, steps: int) -> None:
    """`asyncio.wait_for` of Python 3.11 would return, and the merger go on with windows that are another's."""
    await rebuilt(merger)
    await merger.apply(entry(SMALL, 7, b"junk", b"junk"))  # a sum of refusals is due, so the next wait has an end
    await asyncio.sleep(0.01)
    running, owned = merger._running["small"], merger._owned["small"]
    owned._wake.set()
    for _ in range(steps):
        await asyncio.sleep(0)
    running.cancel()
    done, _ = await asyncio.wait([running], timeout=SOON)
    assert done


async def records_of_a_restart(windows: int, metrics: Metrics) -> int:
    """Return the number of records that a merger reads when it starts after so many windows, and one open one."""
    spec, size_ms = SMALL.estimates[0], SMALL.window.size_ms
    installation = Installation(metrics)
    broker, published = installation.broker, installation.published
    with connected(broker):
        first = installation.merger()
        await first.take_over(set(range(64)))
        await rebuilt(first)
        for number in range(windows):
            await installation.window(number, first)
            await asyncio.wait_for(published.finals_of(SMALL, number=number + 1), SOON)
        await installation.tell(partial(5, collection=SMALL, spec=spec, pane_ms=windows * size_ms), first)
        async with asyncio.timeout(SOON):
            while first._owned["small"].committed != first._owned["small"].merge.checkpoint:
                await asyncio.sleep(0)
        await first.on_stop()
        broker.reads = 0
        second = installation.merger()
        await second.take_over(set(range(64)))
        await rebuilt(second)
        closes_ms = (windows + 1) * size_ms + SMALL.window.grace_ms
        await installation.tell(watermark(closes_ms, collection=SMALL), second)
        finals = await asyncio.wait_for(published.finals_of(SMALL, number=windows + 1), SOON)
        assert finals == [*(number % 7 + 1 for number in range(windows)), 5]
        await second.on_stop()
    return broker.reads


async def test_a_restart_reads_as_much_after_fifty_windows_as_after_ten(
    metrics: Metrics, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collection_merger, "COMMIT_SECONDS", 0.0)
    monkeypatch.setattr("stream_ldp.merge_step.solve", quick_answer)
    few, many = [await records_of_a_restart(windows, metrics) for windows in (10, 50)]
    assert few == many < 10


async def test_windows_whose_finals_the_brokers_have_lost_are_not_said_to_be_silent(
    installation: Installation, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Their reports are forgotten, so nothing else shows that there were any."""
    monkeypatch.setattr(collection_merger, "COMMIT_SECONDS", 0.0)
    first, published = installation.merger(), installation.published
    await first.take_over(set(range(64)))
    await rebuilt(first)
    for number in range(4):
        await installation.window(number, first)
        await asyncio.wait_for(published.finals_of(SMALL, number=number + 1), SOON)
    async with asyncio.timeout(SOON):
        while (found := first._owned["small"].committed) is None or found.answers_end < 4:
            await asyncio.sleep(0)
    await first.on_stop()
    topic = Settings.load().topic_names.answers(SMALL)
    del installation.broker._logs[topic][3:]
    second = installation.merger()
    await second.take_over(set(range(64)))
    await rebuilt(second)
    for number in (4, 6):
        await installation.window(number, second)
    assert await asyncio.wait_for(published.finals_of(SMALL, number=7), SOON) == [1, 2, 3, 4, 5, 0, 7]
    await second.on_stop()
    assert (
        caplog.text.count(f"{topic} partition 0 ends at offset 3, and was read up to 4: it was made again, or") == 1
    )


def counted(collection: JointCollection, *, reports: int, pane_ms: int) -> list[partials.Partial]:
    """All partials of a pane: those of the estimates, and of the whole reports."""
    rows = np.random.default_rng(pane_ms).integers(2, size=(reports, collection.bits), dtype=np.uint8)
    layout = JointLayout(collection)
    tallies = layout.tallies()
    layout.count(tallies, np.packbits(rows, axis=1, bitorder="little"))
    return [
        replace(
            partial(reports, collection=collection, spec=collection.estimates[0], pane_ms=pane_ms),
            of=of,
            counts=tally.take_changed(closing=True)[0],
        )
        for of, tally in tallies.items()
    ]


async def chunks_of(published: Published, *, number: int) -> list[tuple[bytes, bytes]]:
    async with asyncio.timeout(SOON):
        while True:
            found = [(each.key, each.value) for each in published.records if each.topic.endswith(".making.records")]
            if len(found) >= number:
                return found
            await asyncio.sleep(0.01)


async def test_records_follow_the_first_final_of_a_window_and_nothing_else(
    merger: Merger, published: Published
) -> None:
    size_ms = MAKING.window.size_ms
    await read(merger, MAKING, *counted(MAKING, reports=40, pane_ms=0), *counted(MAKING, reports=50, pane_ms=size_ms))
    closes_ms = size_ms + MAKING.window.grace_ms
    await read(merger, MAKING, watermark(closes_ms, collection=MAKING))
    ((key, value),) = await chunks_of(published, number=1)
    chunk = SyntheticChunk.from_bytes(value)
    assert key == chunk.key == b"tree-30-2-0|final|0"
    assert (chunk.reports, len(chunk.records), chunk.window.end_ms) == (40, 30, size_ms)
    finals = await asyncio.wait_for(published.finals_of(MAKING, number=2), SOON)
    assert finals == [40, 40]
    assert merger._metrics.merge.synthetic_records_published.labels("making")._value.get() == 30
    keys = [each.key for each in published.records if not each.topic.endswith(".provisional")]
    assert keys == [b"bathing-mobility|final|0", key, b"mobility|final|0"]


async def test_records_whose_owner_died_before_publishing_them_are_published_by_the_next(
    merger: Merger, published: Published, reports_topics: ReportsTopics, monkeypatch: pytest.MonkeyPatch
) -> None:
    size_ms = MAKING.window.size_ms
    parts: list[partials.Partial | partials.Watermark] = [
        *counted(MAKING, reports=40, pane_ms=0),
        watermark(size_ms + MAKING.window.grace_ms, collection=MAKING),
    ]
    await read(merger, MAKING, *parts)
    before = await chunks_of(published, number=1)
    await asyncio.wait_for(published.finals_of(MAKING, number=2), SOON)
    finals = [each for each in published.records if each.topic.endswith(".making.estimates")]

    async def answers(log: AnswersLog) -> AsyncIterator[Any]:
        if log._merge.collection is MAKING:
            log._merge.decide(Estimate.from_bytes(finals[0].value))
        return
        yield

    async def log(name: str, **_: object) -> AsyncIterator[LogEntry]:
        for offset, record in enumerate(parts if name == "making" else []):
            yield entry(MAKING, offset, *partials.encode(record, writer="w"))

    monkeypatch.setattr(AnswersLog, "read", answers)
    monkeypatch.setattr(collection_merger, "partials_log", log)
    await merger.give_up(set(range(64)))
    reports_topics.forget_commits()
    published.records.clear()
    await merger.take_over(set(range(64)))
    assert await chunks_of(published, number=1) == before
    assert await asyncio.wait_for(published.finals_of(MAKING, number=1), SOON) == [40]
    assert [each.topic for each in published.records] == ["stream-ldp.making.records", "stream-ldp.making.estimates"]


async def test_rows_whose_owner_died_before_publishing_them_are_published_by_the_next(
    merger: Merger, published: Published, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stream_ldp.merge_step.solve", quick_answer)
    await rebuilt(merger)
    await tell(merger, SMALL, windows=2)
    async with asyncio.timeout(SOON):
        await published.finals_of(SMALL, number=2)
    owned = merger._owned["small"]
    monkeypatch.setattr(owned, "_collection", SMALL.model_copy(update={"rows": True}))
    await owned._follow_up()
    once = [(each.key, each.value) for each in published.records if each.topic == "stream-ldp.small.estimates-rows"]
    await owned._follow_up()
    twice = [(each.key, each.value) for each in published.records if each.topic == "stream-ldp.small.estimates-rows"]
    assert twice == once + once
    expected = [
        (row.key, row.to_bytes())
        for each in published.records
        if each.topic == "stream-ldp.small.estimates"
        for row in rows_of(Estimate.from_bytes(each.value))
    ]
    assert once == expected
    assert expected


async def test_a_final_of_another_of_which_no_rows_can_be_made_ends_no_merge(
    merger: Merger, published: Published, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise OverflowError

    monkeypatch.setattr("stream_ldp.merge_step.solve", quick_answer)
    monkeypatch.setattr(collection_merger, "published_rows", fail)
    await rebuilt(merger)
    monkeypatch.setattr(merger._owned["small"], "_collection", SMALL.model_copy(update={"rows": True}))
    await tell(merger, SMALL, windows=2)
    async with asyncio.timeout(SOON):
        assert len(await published.finals_of(SMALL, number=2)) == 2
    assert "small: no rows are made of " in caplog.text


async def test_a_final_of_another_of_which_no_records_can_be_made_ends_no_merge(
    merger: Merger, published: Published, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise OverflowError

    await read(merger, MAKING, *counted(MAKING, reports=40, pane_ms=0))
    await read(merger, MAKING, watermark(5 * MAKING.window.size_ms, collection=MAKING))
    await asyncio.wait_for(published.finals_of(MAKING, number=2), SOON)
    owned = merger._owned["making"]
    monkeypatch.setattr(owned.merge, "holds", lambda _: True)
    monkeypatch.setattr("stream_ldp.synthesis.publication.window_records", fail)
    await owned._follow_up()
    assert "making: no records are made of " in caplog.text


async def test_records_of_a_window_that_is_forgotten_are_not_published_again(
    merger: Merger, published: Published
) -> None:
    size_ms = MAKING.window.size_ms
    await read(merger, MAKING, *counted(MAKING, reports=40, pane_ms=0))
    await read(merger, MAKING, watermark(5 * size_ms, collection=MAKING))
    await chunks_of(published, number=1)
    await asyncio.wait_for(published.finals_of(MAKING, number=2), SOON)
    merge = merger._owned["making"].merge
    async with asyncio.timeout(SOON):
        while merge.panes:
            await asyncio.sleep(0)
    assert not merge.holds(0)
    assert merge.holds(5 * size_ms)
