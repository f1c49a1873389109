"""Tests that a worker goes on from what the one before has saved of open windows, and reads hardly more."""

import logging
from typing import Any

import numpy as np
import pytest

from stream_ldp.pipeline import partials
from stream_ldp.pipeline.partials import Partial
from stream_ldp.service.ingest import Ingest
from stream_ldp.service.windows_log import CLOCKS_MS, restored_panes
from stream_ldp.testing import kafka_in_memory
from tests.pipeline.test_saved_panes import lived as lived_alone
from tests.pipeline.test_source_partition import SURVEY as ONE_QUESTION
from tests.service.harness import batches
from tests.service.memory import COLLECTION, START_MS, MemoryKafka
from tests.service.test_ingest import joined, turn

RECORDS = 12


@pytest.fixture
def memory() -> MemoryKafka:
    """Return a topic of one partition, whose reports are all of one open window."""
    return MemoryKafka(turn_seconds=0.01)


def report(memory: MemoryKafka) -> None:
    """Write a batch of five reports of the first window, whenever that is."""
    (value,) = batches(COLLECTION, [START_MS], reports=5, rng=np.random.default_rng(0))
    memory.write(value)


async def lived(memory: MemoryKafka, monkeypatch: pytest.MonkeyPatch) -> Ingest:
    """Let a worker count batches, save the windows when it has read five more, and flush a few times beyond that."""
    worker = await joined(memory, monkeypatch, save_records=5)
    await turn(worker, memory, seconds=0.3)  # the claim
    for _ in range(RECORDS):
        report(memory)
        await turn(worker, memory, seconds=0.08)
    await turn(worker, memory, seconds=0.6)
    assert memory.committed().position == RECORDS
    assert memory.committed().offset == 0
    assert memory.of_kind("saved")
    memory.read.clear()
    return worker


def counted(memory: MemoryKafka) -> float:
    """Return the number of reports of the newest partial."""
    newest = partials.decode(memory.of_kind("partial")[-1].value)
    assert isinstance(newest, Partial)
    return newest.counts.reports


async def next_worker(memory: MemoryKafka, monkeypatch: pytest.MonkeyPatch, **settings: Any) -> Ingest:
    """Start another one, as after kill -9, let it claim the partition and catch up."""
    worker = await joined(memory, monkeypatch, **{"save_records": 5} | settings)
    await turn(worker, memory, seconds=0.6)
    return worker


async def test_a_worker_that_starts_again_reads_only_what_came_after_the_windows_were_saved(
    memory: MemoryKafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    await lived(memory, monkeypatch)
    worker = await next_worker(memory, monkeypatch)
    first = memory.read[0]
    assert first >= RECORDS - 6
    assert memory.read == list(range(first, RECORDS))
    report(memory)
    await turn(worker, memory, seconds=0.6)
    assert counted(memory) == 5 * (RECORDS + 1)
    assert memory.metric("reports_counted_total", collection="survey") == 5 * (RECORDS + 1)


async def test_copies_of_batches_from_before_a_restart_count_once(
    memory: MemoryKafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    await lived(memory, monkeypatch)
    worker = await next_worker(memory, monkeypatch)
    for old in (0, 4, RECORDS - 1):
        memory.write(memory.log[memory.all[0]][old].value)
    report(memory)
    await turn(worker, memory, seconds=0.6)
    assert counted(memory) == 5 * (RECORDS + 1)
    assert memory.metric("reports_duplicate_total", collection="survey") == 15


async def test_a_third_worker_goes_on_from_what_the_second_left(
    memory: MemoryKafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether the second has saved nothing yet, or has saved what it restored and more."""
    await lived(memory, monkeypatch)
    for reports in (1, 8):
        worker = await next_worker(memory, monkeypatch)
        for _ in range(reports):
            report(memory)
        await turn(worker, memory, seconds=0.6)
    memory.read.clear()
    worker = await next_worker(memory, monkeypatch)
    assert all(offset >= RECORDS for offset in memory.read)
    report(memory)
    await turn(worker, memory, seconds=0.6)
    assert counted(memory) == 5 * (RECORDS + 10)


@pytest.mark.parametrize("most", [RECORDS // 2, RECORDS + 2])
@pytest.mark.parametrize("lost", ["", "panes"])
async def test_every_report_is_counted_or_a_dead_letter_where_workers_have_other_limits(
    memory: MemoryKafka, monkeypatch: pytest.MonkeyPatch, most: int, lost: str
) -> None:
    """A lower limit holds for what comes from then on, and so does a higher one after it."""
    await lived(memory, monkeypatch)
    memory.published[:] = [each for each in memory.published if not lost or not each.key.startswith(b'["panes"')]
    worker = await next_worker(memory, monkeypatch, max_batches=most)
    for _ in range(4):
        report(memory)
    await turn(worker, memory, seconds=0.6)
    others = await next_worker(memory, monkeypatch, max_batches=2 * RECORDS)  # It reads those four again.
    report(memory)
    await turn(others, memory, seconds=0.6)
    refused = RECORDS + 4 - max(most, RECORDS)
    assert sum(int(dict(each.headers)["count"]) for each in memory.of_kind("dead letter")) == refused
    assert counted(memory) == 5 * (RECORDS + 5 - refused)


@pytest.mark.parametrize("lost", ["hashes", "panes", "partial"])
async def test_where_something_of_what_was_saved_is_missing_all_is_read_again_and_said(
    memory: MemoryKafka, monkeypatch: pytest.MonkeyPatch, lost: str, caplog: pytest.LogCaptureFixture
) -> None:
    await lived(memory, monkeypatch)
    memory.published[:] = [each for each in memory.published if not each.key.startswith(f'["{lost}"'.encode())]
    with caplog.at_level(logging.WARNING):
        worker = await next_worker(memory, monkeypatch)
    assert memory.read == list(range(RECORDS))
    assert "survey: what was saved of open windows of partition 0 is not on the log any more" in caplog.text
    report(memory)
    await turn(worker, memory, seconds=0.6)
    assert counted(memory) == 5 * (RECORDS + 1)


async def test_a_log_that_has_lost_its_end_is_read_again_from_the_first_report(
    memory: MemoryKafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was saved may count reports that are lost."""
    await lived(memory, monkeypatch)
    del memory.log[memory.all[0]][RECORDS - 1 :]
    await next_worker(memory, monkeypatch)
    assert memory.read == list(range(RECORDS - 1))


async def test_reports_that_were_saved_are_not_lost_when_retention_deletes_them(
    memory: MemoryKafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    await lived(memory, monkeypatch)
    memory.expire(before=3)
    worker = await next_worker(memory, monkeypatch)
    report(memory)
    await turn(worker, memory, seconds=0.6)
    assert counted(memory) == 5 * (RECORDS + 1)
    assert memory.metric("offsets_lost_total", collection="survey") in (None, 0)


@pytest.mark.parametrize(("behind_ms", "found"), [(0, True), (CLOCKS_MS, True), (CLOCKS_MS + 1, False)])
async def test_saved_panes_are_found_by_their_time_unless_the_clock_of_the_worker_was_far_behind(
    behind_ms: int, found: bool
) -> None:
    checkpoint, log = lived_alone(3)
    place = checkpoint.saved
    assert place is not None
    with kafka_in_memory(ONE_QUESTION, now_ms=place.since_ms) as kafka:
        topic = kafka.settings.topic_names.partials
        for record in log:
            key, value = partials.encode(record, writer="w")
            kafka.broker.put(topic, value, key=key, at_ms=place.since_ms - behind_ms)
        panes = await restored_panes(ONE_QUESTION, {0: place}, settings=kafka.settings)
        assert await restored_panes(ONE_QUESTION, {}, settings=kafka.settings) == {}
    assert panes.keys() == ({0} if found else set())
