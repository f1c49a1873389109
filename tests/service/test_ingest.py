"""Tests of what one worker reads, writes and commits, with a topic in memory and a clock that the test turns."""

import asyncio
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from aiokafka import TopicPartition
from aiokafka.errors import CommitFailedError, KafkaConnectionError, NodeNotReadyError
from aiokafka.structs import OffsetAndMetadata

from stream_ldp.pipeline import partials, wire
from stream_ldp.pipeline.rejection import Reason
from stream_ldp.pipeline.source_partition import SILENT_MS
from stream_ldp.pipeline.statistics import groups, sending
from stream_ldp.pipeline.statistics.sending import LEAST_FLUSH_SECONDS
from stream_ldp.pipeline.windows import closes_at, pane_of
from stream_ldp.service import ingest as ingest_module
from stream_ldp.service.ingest import (
    CHECK_SECONDS,
    LETTER_BYTES,
    MAX_RECORDS,
    POLL_MS,
    QUIET_EACH_MS,
    QUIET_MS,
    STANDSTILL_SECONDS,
    UNANSWERED_SECONDS,
    Ingest,
)
from stream_ldp.service.ownership import Ownership
from stream_ldp.service.rejection_log import SUM_SECONDS
from stream_ldp.service.reports_group import ReportsGroup
from tests.service.memory import COLLECTION, MemoryKafka


@pytest.fixture
def kafka_in_memory() -> MemoryKafka:
    """Make a topic of two partitions."""
    return MemoryKafka(partitions=2)


@pytest.fixture
async def ingest(kafka_in_memory: MemoryKafka, monkeypatch: pytest.MonkeyPatch) -> Ingest:
    """Make the ingest of a worker that has both partitions."""
    return await joined(kafka_in_memory, monkeypatch)


async def joined(memory: MemoryKafka, monkeypatch: pytest.MonkeyPatch, **settings: Any) -> Ingest:
    ingest = memory.ingest(monkeypatch, **settings)
    await ingest.on_start()
    await ingest._ownership.on_partitions_assigned(memory.all)
    return ingest


async def turn(ingest: Ingest, memory: MemoryKafka, *, seconds: float) -> None:
    """Let it turn for so many seconds."""
    until = memory.seconds + seconds
    while memory.seconds < until:
        await ingest.turn()


async def test_a_commit_waits_for_partials_and_precedes_the_watermark(
    ingest: Ingest, kafka_in_memory: MemoryKafka
) -> None:
    memory = kafka_in_memory
    # The first flush claims the partitions.
    await turn(ingest, memory, seconds=LEAST_FLUSH_SECONDS + 0.1)
    memory.done.clear()
    memory.report()
    memory.write(b"not a batch")
    await turn(ingest, memory, seconds=LEAST_FLUSH_SECONDS + 0.1)
    assert memory.done == [
        ("publish", ["dead letter", "partial"]),
        ("commit", {0: 0}),
        ("publish", ["watermark"]),
    ]
    assert memory.committed().position == 2
    assert memory.metric("reports_counted_total", collection="survey") == 5.0


async def test_a_flush_does_not_wait_for_records_that_do_not_come(
    ingest: Ingest, kafka_in_memory: MemoryKafka
) -> None:
    memory = kafka_in_memory
    memory.report()
    await turn(ingest, memory, seconds=1.0)
    memory.waits_ms.clear()
    await turn(ingest, memory, seconds=1.0)
    # A flush is due 50 ms after two turns.
    assert min(memory.waits_ms) <= 1_000 * (LEAST_FLUSH_SECONDS - 2 * memory.turn_seconds) + 1
    assert max(memory.waits_ms) <= POLL_MS


async def test_a_collection_that_nobody_reports_to_turns_seldom_until_the_first_report(
    ingest: Ingest, kafka_in_memory: MemoryKafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = kafka_in_memory
    await turn(ingest, memory, seconds=2.0)
    assert memory.waits_ms[-1] == QUIET_MS
    monkeypatch.setattr(ReportsGroup, "collections", 300)
    await turn(ingest, memory, seconds=2.0)
    assert memory.waits_ms[-1] == 300 * QUIET_EACH_MS, "five turns a second are enough for hundreds"
    memory.seconds += 300 * QUIET_EACH_MS / 1_000
    assert ingest.seconds_overdue == 0, "it waits, and is not stuck"
    memory.seconds += 40
    assert ingest.seconds_overdue == pytest.approx(40, abs=1)
    memory.report()
    await turn(ingest, memory, seconds=2.0)
    assert memory.waits_ms[-1] <= POLL_MS
    memory.failing = KafkaConnectionError()
    await turn(ingest, memory, seconds=2.0)
    assert memory.waits_ms[-1] <= POLL_MS, "an outage is looked at as often as ever"


async def test_a_dead_letter_is_written_once(ingest: Ingest, kafka_in_memory: MemoryKafka) -> None:
    memory = kafka_in_memory
    memory.write(b"not a batch")
    await turn(ingest, memory, seconds=2 * LEAST_FLUSH_SECONDS)
    memory.report()
    await turn(ingest, memory, seconds=2 * LEAST_FLUSH_SECONDS)
    (letter,) = memory.of_kind("dead letter")
    assert letter.value == b"not a batch"


async def test_a_flood_of_unknown_fingerprints_fills_no_memory(
    kafka_in_memory: MemoryKafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory, flood, most_bytes = kafka_in_memory, 8_000, 3 * 2**20
    ingest = await joined(memory, monkeypatch, max_dead_letter_bytes=most_bytes)
    await turn(ingest, memory, seconds=2 * LEAST_FLUSH_SECONDS)
    reason = {"collection": "survey", "reason": "unknown_fingerprint"}
    rows = np.zeros((1, 1), dtype=np.uint8)
    for number in range(flood):
        name = number.to_bytes(16, "little")
        batch = wire.Batch(fingerprint=name, batch_id=name, time_ms=memory.now_ms(), rows=rows)
        memory.write(wire.encode(batch))
    memory.turn_seconds = 1e-6  # No flush is due by its time.
    most = 0
    for _ in range(flood // MAX_RECORDS):
        await ingest.turn()
        most = max(most, sum(len(owned.dead_letters) for owned in ingest._ownership.partitions.values()))
    memory.turn_seconds = 0.1
    await turn(ingest, memory, seconds=2 * LEAST_FLUSH_SECONDS)
    assert most <= most_bytes // LETTER_BYTES + MAX_RECORDS
    assert memory.metric("flushes_flooded_total", collection="survey") == 2
    assert len(memory.of_kind("dead letter")) == memory.metric("batches_rejected_total", **reason) == flood
    samples = [sample for family in memory.metrics.registry.collect() for sample in family.samples]
    assert all(name.hex() not in str(sample) and str(name) not in str(sample) for sample in samples)
    assert len([sample for sample in samples if sample.name == "stream_ldp_batches_rejected_total"]) <= len(Reason)
    state = ingest._ownership.partitions[memory.all[0]].state
    assert (len(state._layouts), state.open_panes) == (1, 0)


async def test_excess_dead_letters_are_written_at_once_and_counted(
    kafka_in_memory: MemoryKafka, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    memory = kafka_in_memory
    # Refused for two reasons in turn, or they would share a letter.
    junk = [start.ljust(60, b"x") for start in (b"not a batch", wire.MAGIC)]
    ingest = await joined(memory, monkeypatch, max_dead_letter_bytes=2 * (LETTER_BYTES + 60))
    memory.turn_seconds = 1e-6  # No flush is due by its time.
    written = []
    for number in range(6):
        memory.write(junk[number % 2])
        await ingest.turn()
        written.append(len(memory.of_kind("dead letter")))
    assert written == [0, 0, 3, 3, 3, 6]
    assert memory.metric("flushes_flooded_total", collection="survey") == 2
    told = [each.message for each in caplog.records if "max_dead_letter_bytes" in each.message]
    assert told == [
        "survey: so many batches are refused that dead letters are written before their time: more than 2168 bytes "
        "of them wait (max_dead_letter_bytes); see where they come from by stream-ldp dead-letters list"
    ]
    memory.seconds += SUM_SECONDS
    memory.write(junk[0] * 500)
    await ingest.turn()
    assert len([each for each in caplog.records if "max_dead_letter_bytes" in each.message]) == 2


async def test_nothing_is_written_before_a_flush_is_due(ingest: Ingest, kafka_in_memory: MemoryKafka) -> None:
    memory = kafka_in_memory
    memory.report()
    memory.turn_seconds = LEAST_FLUSH_SECONDS / 5
    for _ in range(4):
        await ingest.turn()
    assert memory.done == [("publish", ["joining"])]
    for _ in range(2):
        await ingest.turn()
    assert [what for what, _ in memory.done] == ["publish", "commit"], "the claim of the partitions"


async def test_what_comes_steadily_is_flushed_once_in_every_and_what_closes_a_window_at_once(
    ingest: Ingest, kafka_in_memory: MemoryKafka
) -> None:
    """Two looks come in an `every` of 0.5 s: nobody would see the flush at the first one."""
    memory = kafka_in_memory
    memory.turn_seconds = 0.04
    flushed: list[tuple[float, float]] = []
    closes_ms, closed_ms = closes_at(pane_of(memory.now_ms(), COLLECTION.window), COLLECTION.window), 0
    while memory.seconds < 1_004.0:
        for partition in range(2):
            memory.report(partition=partition)
        memory.done.clear()
        await ingest.turn()
        if "commit" in [what for what, _ in memory.done]:
            before_ms, closed_ms = closed_ms, memory.committed().watermark_ms or 0
            late_ms = memory.now_ms() - closes_ms if before_ms < closes_ms <= closed_ms else math.inf
            flushed.append((memory.seconds, late_ms))
    gaps = [(after - before, late_ms) for (before, _), (after, late_ms) in pairwise(flushed[2:])]
    assert min(gap for gap, late_ms in gaps if late_ms == math.inf) > 0.5
    assert [late_ms < 350 for _, late_ms in gaps if late_ms < math.inf] == [True]


async def test_a_light_load_is_fetched_once_for_each_flush_until_a_window_may_close(
    ingest: Ingest, kafka_in_memory: MemoryKafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fetch takes as long as a hundred records. Nobody waits for those that come between flushes."""
    monkeypatch.setattr(ingest_module, "GATHERED_RECORDS", 200)
    memory, every = kafka_in_memory, 2 * LEAST_FLUSH_SECONDS
    memory.turn_seconds = 0.01
    closes_ms = closes_at(pane_of(memory.now_ms(), COLLECTION.window), COLLECTION.window)
    while memory.seconds < 1_006.0:
        for partition in range(2):
            memory.report(partition=partition)
        await ingest.turn()
    periods = [(at_ms, period) for at_ms, period in memory.periods if at_ms > memory.now_ms() - 4_000]
    assert {period for _, period in periods} == {LEAST_FLUSH_SECONDS, every}
    near = [(closes_ms - at_ms) % COLLECTION.window.size_ms / 1_000 for at_ms, period in periods if period < every]
    assert max(near) < 2 * every, "only when a window may close"
    late = [(at_ms + 1_000 * period - closes_ms) % COLLECTION.window.size_ms for at_ms, period in periods]
    assert min(late) < 1_000 * LEAST_FLUSH_SECONDS, "a look comes soon after it"
    memory.periods.clear()
    until = memory.seconds + 1.0
    while memory.seconds < until:
        for _ in range(20):
            memory.report()
        await ingest.turn()
    assert {period for _, period in memory.periods[1:]} == {LEAST_FLUSH_SECONDS}, "a heavy load, at each look"


@pytest.mark.parametrize(("reports", "share"), [(1, 0.01), (40, 0.4), (200, 0.5)])
async def test_reports_are_fetched_as_long_before_a_look_as_it_takes_to_count_them(
    ingest: Ingest, kafka_in_memory: MemoryKafka, monkeypatch: pytest.MonkeyPatch, reports: int, share: float
) -> None:
    """What is not counted by then would wait for the next flush; more than half of the time is too early."""
    monkeypatch.setattr(ingest_module, "COUNTED_A_SECOND", 2_000)
    memory = kafka_in_memory
    memory.turn_seconds = 0.05
    while memory.seconds < 1_002.0:
        for _ in range(reports):
            memory.report()
        await ingest.turn()
    (_, period), lead = memory.periods[-1], memory.leads[-1]
    assert (lead - ingest_module.FETCH_SECONDS) / period == pytest.approx(share, abs=0.05)


async def test_large_statistics_of_many_partitions_take_turns_but_for_the_last_time(
    ingest: Ingest, kafka_in_memory: MemoryKafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Copied and encoded together, they would take the event loop for longer than a flush may."""
    for module, name, value in (
        (sending, "SMALL_BYTES", 0),
        (groups, "SMALL_BYTES", 0),
        (ingest_module, "LARGE_BYTES_A_SECOND", 1),
        (ingest_module, "INLINE_BYTES", 0),
    ):
        monkeypatch.setattr(module, name, value)
    memory = kafka_in_memory
    written: Counter[tuple[int, int]] = Counter()
    last: dict[tuple[int, int], float] = {}
    served = []
    while memory.seconds < 1_006.0:
        for partition in range(2):
            written[partition, pane_of(memory.now_ms(), COLLECTION.window)] += 5
            memory.report(reports=5, partition=partition)
        memory.published.clear()
        await turn(ingest, memory, seconds=0.5)
        records: list[Any] = [partials.decode(record.value) for record in memory.of_kind("partial")]
        found = [part for record in records for part in record.parts]
        last |= {(part.partition, part.pane_ms): part.counts.reports for part in found}
        served.append({part.partition for part in found})
    assert max(map(len, served)) == 1
    assert all(one != other for one, other in pairwise(filter(None, served)))
    closed = memory.committed().watermark_ms or 0
    ended = [place for place in written if closes_at(place[1], COLLECTION.window) <= closed]
    assert len(ended) >= 4
    assert {place: last[place] for place in ended} == {place: written[place] for place in ended}


async def test_a_worker_whose_commit_is_refused_closes_nothing_and_counts_again_from_the_last_commit(
    ingest: Ingest, kafka_in_memory: MemoryKafka
) -> None:
    memory = kafka_in_memory
    await turn(ingest, memory, seconds=2 * LEAST_FLUSH_SECONDS)
    memory.refusing = CommitFailedError()
    memory.report()
    memory.done.clear()
    while not memory.done or memory.done[-1][0] != "refused":
        await ingest.turn()
    assert [what for what, _ in memory.done] == ["publish", "refused"]
    assert memory.of_kind("watermark") == []
    memory.refusing = None
    await turn(ingest, memory, seconds=3 * LEAST_FLUSH_SECONDS)
    assert memory.committed().position == 1
    # The two ownerships wrote under keys of their own.
    first, second = memory.of_kind("partial")[:2]
    assert first.key != second.key


async def test_windows_close_when_everyone_has_been_silent_for_the_idle_timeout(
    ingest: Ingest, kafka_in_memory: MemoryKafka
) -> None:
    memory = kafka_in_memory
    memory.report()
    await turn(ingest, memory, seconds=2.0)
    reported_ms = memory.committed().watermark_ms
    assert reported_ms is not None
    # Its window of 2 s, the grace of 1 s and the idle timeout of 2 s.
    await turn(ingest, memory, seconds=6.0)
    closed_ms = memory.committed().watermark_ms
    assert closed_ms is not None
    assert closed_ms >= reported_ms + 3_000
    assert memory.metric("panes_open", collection="survey") == 0.0
    assert partials.decode(memory.of_kind("watermark")[-1].value)


async def test_an_idle_partition_closes_its_windows_in_time_however_long_each_turn_asks(
    ingest: Ingest, kafka_in_memory: MemoryKafka
) -> None:
    """No second of the silence is left out: a window closes a check and a flush after it is due, and so the next."""
    memory = kafka_in_memory
    memory.waiting, memory.asking_seconds = True, 0.45
    await turn(ingest, memory, seconds=1.5)
    idle_timeout_ms = COLLECTION.window.idle_timeout_ms
    assert idle_timeout_ms is not None
    for _ in range(5):
        memory.report()
        closed_ms = closes_at(pane_of(memory.now_ms(), COLLECTION.window), COLLECTION.window)
        due_s = memory.seconds + (closed_ms - memory.now_ms() + idle_timeout_ms) / 1_000
        for _ in range(2):
            await turn(ingest, memory, seconds=0.1)
            while (memory.committed().watermark_ms or 0) < closed_ms:
                assert memory.seconds < due_s + 30, "it closes at all"
                await ingest.turn()
            assert due_s - 0.3 <= memory.seconds <= due_s + CHECK_SECONDS + 0.45 + 2 * LEAST_FLUSH_SECONDS
            closed_ms += COLLECTION.window.pane_ms
            due_s += COLLECTION.window.pane_ms / 1_000


async def test_a_collection_whose_users_are_silent_hardly_turns_and_commits_nothing(
    ingest: Ingest, kafka_in_memory: MemoryKafka
) -> None:
    memory = kafka_in_memory
    memory.waiting = True
    memory.report()
    await turn(ingest, memory, seconds=20.0)
    memory.waits_ms.clear()
    memory.done.clear()
    await turn(ingest, memory, seconds=200.0)
    assert len(memory.waits_ms) <= 200 / (QUIET_MS / 1_000) + 2, "windows of 2 s close with the time"
    assert memory.done == []
    await turn(ingest, memory, seconds=SILENT_MS / 1_000)
    assert [what for what, _ in memory.done] == ["commit", "publish"], "one for some minutes"
    memory.report()
    await turn(ingest, memory, seconds=1.0)
    assert memory.metric("reports_counted_total", collection="survey") == 10.0
    assert memory.waits_ms[-1] <= POLL_MS


async def test_an_idle_partition_follows_those_of_other_workers_within_its_idle_timeout(
    ingest: Ingest, kafka_in_memory: MemoryKafka
) -> None:
    memory = kafka_in_memory
    memory.waiting = True
    memory.assigned = {memory.all[0]}
    memory.report()
    await turn(ingest, memory, seconds=10.0)
    theirs = replace(memory.committed(), watermark_ms=memory.now_ms() + 60_000)
    memory.commits[memory.all[1]] = OffsetAndMetadata(0, theirs.metadata())
    idle_timeout_ms = COLLECTION.window.idle_timeout_ms
    assert idle_timeout_ms is not None
    await turn(ingest, memory, seconds=idle_timeout_ms / 1_000)
    assert memory.committed().watermark_ms == theirs.watermark_ms


async def test_a_worker_that_was_stopped_for_an_hour_does_not_take_it_for_silence(
    ingest: Ingest, kafka_in_memory: MemoryKafka
) -> None:
    memory = kafka_in_memory
    memory.report()
    await turn(ingest, memory, seconds=1.0)
    before = memory.committed().watermark_ms
    memory.seconds += 3_600
    assert ingest.seconds_overdue >= 3_600 - QUIET_MS / 1_000
    await turn(ingest, memory, seconds=0.5)
    assert ingest.seconds_overdue == 0.0
    assert memory.committed().watermark_ms == before


async def test_a_partition_that_has_more_to_read_is_not_idle(ingest: Ingest, kafka_in_memory: MemoryKafka) -> None:
    memory = kafka_in_memory
    memory.report()
    await turn(ingest, memory, seconds=1.0)
    before = memory.committed().watermark_ms
    # On the log, but no fetch brings it.
    memory.report()
    memory.withheld = True
    await turn(ingest, memory, seconds=8.0)
    assert memory.committed().watermark_ms == before
    assert memory.metric("consumer_lag_records", topic=memory.topic, partition="0") == 1.0, (
        "the end is asked for, and lies behind"
    )


@pytest.mark.parametrize("away", [KafkaConnectionError(), TimeoutError()], ids=["away", "frozen"])
async def test_a_broker_that_is_away_is_no_silent_producer_and_is_given_up_in_the_end(
    ingest: Ingest, kafka_in_memory: MemoryKafka, away: Exception
) -> None:
    memory = kafka_in_memory
    memory.report()
    await turn(ingest, memory, seconds=1.0)
    before = memory.committed().watermark_ms
    outage = memory.settings.outage_seconds
    memory.turn_seconds = 0.5
    memory.failing = away
    await turn(ingest, memory, seconds=outage / 2)
    assert (memory.hung_up > 0) is isinstance(away, TimeoutError), "a silent connection is not asked for ever"
    memory.failing = None
    await turn(ingest, memory, seconds=CHECK_SECONDS + 0.5)
    assert memory.committed().watermark_ms == before, "the wait for the idle timeout has begun again"
    memory.failing = away
    await turn(ingest, memory, seconds=outage - 2)
    with pytest.raises(type(away)):
        await turn(ingest, memory, seconds=4)


async def test_windows_close_beside_brokers_that_are_often_slow_to_answer(
    ingest: Ingest, kafka_in_memory: MemoryKafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory, ask = kafka_in_memory, kafka_in_memory.end_offsets
    answered = [True]

    async def slow(partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        answered.append(len(answered) % 3 > 0)
        if not answered[-1]:
            raise TimeoutError
        return await ask(partitions)

    memory.report()
    await turn(ingest, memory, seconds=1.0)
    reported_ms = memory.committed().watermark_ms
    monkeypatch.setattr(memory, "end_offsets", slow)
    while memory.committed().watermark_ms == reported_ms:
        assert memory.seconds < 1_020, "the silence does not begin anew each time"
        await ingest.turn()
    assert answered[-2:] == [True, True], "the first answer comes before what producers could not send meanwhile"


async def test_it_is_ready_once_it_has_partitions_and_has_caught_up(
    kafka_in_memory: MemoryKafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = kafka_in_memory
    waiting = memory.ingest(monkeypatch)
    assert waiting.problems() == [f"survey: waiting for partitions of {memory.topic}"]
    first = await joined(memory, monkeypatch)
    memory.report()
    memory.report()
    await turn(first, memory, seconds=2.0)
    assert first.problems() == []
    # The window is open, so its successor reads the reports again.
    second = await joined(memory, monkeypatch)
    assert memory.committed().offset == 0
    monkeypatch.setattr("stream_ldp.service.ingest.MAX_RECORDS", 1)
    await second.turn()
    await second.turn()
    assert second.problems() == ["survey: 1 partitions are reading open windows again"]
    await second.turn()
    assert second.problems() == []
    assert memory.metric("reports_counted_total", collection="survey") == 10.0, "what is read again is not told again"


async def test_it_is_not_ready_before_it_has_taken_over_what_is_assigned_and_gives_up_in_the_end(
    kafka_in_memory: MemoryKafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def no_commits(_: object) -> object:
        raise NodeNotReadyError

    memory = kafka_in_memory
    ingest = await joined(memory, monkeypatch)
    with monkeypatch.context() as patch:
        patch.setattr(Ownership, "commits", no_commits)
        memory.turn_seconds = 0.5
        await turn(ingest, memory, seconds=2.0)
        assert ingest.problems() == [f"survey: partitions 0, 1 of {memory.topic} are to be taken over"]
        with pytest.raises(NodeNotReadyError):
            await turn(ingest, memory, seconds=memory.settings.outage_seconds + 5)
    second = await joined(memory, monkeypatch)
    await turn(second, memory, seconds=2.0)
    assert second.problems() == []


async def test_it_is_not_ready_while_what_waits_is_not_read(ingest: Ingest, kafka_in_memory: MemoryKafka) -> None:
    memory = kafka_in_memory
    memory.report()
    await turn(ingest, memory, seconds=2.0)
    # On the log, but no fetch brings it.
    memory.report()
    memory.withheld = True
    await turn(ingest, memory, seconds=STANDSTILL_SECONDS - 5)
    assert ingest.problems() == []
    await turn(ingest, memory, seconds=10)
    (problem,) = ingest.problems()
    assert problem.startswith("survey: 1 records wait, and none has been read for 6")
    memory.withheld = False
    await turn(ingest, memory, seconds=2.0)
    assert ingest.problems() == []


async def test_it_is_not_ready_while_the_brokers_do_not_answer_and_goes_on_turning(
    ingest: Ingest, kafka_in_memory: MemoryKafka
) -> None:
    memory = kafka_in_memory
    await ingest.turn()
    memory.failing = KafkaConnectionError()
    await turn(ingest, memory, seconds=UNANSWERED_SECONDS + 2)
    assert ingest.problems() == [f"survey: the brokers of {memory.topic} have not answered for 14 s"]
    assert ingest.seconds_overdue == 0.0
    memory.failing = None
    await turn(ingest, memory, seconds=2.0)
    assert ingest.problems() == []


async def test_it_is_not_ready_while_a_topic_does_not_exist_and_says_what_to_do(
    ingest: Ingest, kafka_in_memory: MemoryKafka
) -> None:
    memory = kafka_in_memory
    await turn(ingest, memory, seconds=2.0)
    reports, partials_topic = memory.topics.pop(memory.topic), memory.settings.topic_names.partials
    await turn(ingest, memory, seconds=CHECK_SECONDS + 0.5)
    (problem,) = ingest.problems()
    assert problem.startswith(f"survey: topic {memory.topic} has been deleted: create it, and go on without what it")
    memory.topics |= {memory.topic: reports, partials_topic: ("b2", 64)}
    await turn(ingest, memory, seconds=CHECK_SECONDS + 0.5)
    assert ingest.problems() == [
        f"survey: topic {partials_topic} has been deleted and made again: restart the workers"
    ]


async def test_a_worker_without_partitions_is_ready_only_if_there_are_none_for_it(
    ingest: Ingest, kafka_in_memory: MemoryKafka
) -> None:
    memory = kafka_in_memory
    memory.assigned, memory.members = set(), 3
    await turn(ingest, memory, seconds=2.0)
    assert ingest.problems() == [], "two of three have the two partitions"
    memory.members = 2
    await turn(ingest, memory, seconds=2.0)
    assert ingest.problems() == [
        f"survey: owns none of the 2 partitions of {memory.topic}, which its group has 2 members for"
    ]


async def test_windows_of_a_log_that_lost_its_end_close_although_nothing_more_comes(
    ingest: Ingest, kafka_in_memory: MemoryKafka
) -> None:
    memory = kafka_in_memory
    for _ in range(3):
        memory.report()
    await turn(ingest, memory, seconds=1.0)
    assert memory.committed().position == 3
    del memory.log[memory.all[0]][1:]
    memory.place[memory.all[0]] = 1
    await turn(ingest, memory, seconds=CHECK_SECONDS + 1.0)
    assert ingest.problems() == []
    assert memory.committed().position == 1
    memory.write(b"junk")
    await turn(ingest, memory, seconds=10.0)
    assert memory.metric("batches_rejected_total", collection="survey", reason="too_short") == 1.0
    (partial,) = [
        each
        for record in memory.of_kind("partial")
        if isinstance(each := partials.decode(record.value), partials.Partial)
        and each.generation == memory.committed().generation
    ]
    assert partial.counts.reports == 5, "what is on the log, and not what was lost"
    assert memory.committed().offset == 2, "the window has closed"


async def test_a_flush_that_waits_for_brokers_is_reported_as_such(
    ingest: Ingest, kafka_in_memory: MemoryKafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = kafka_in_memory

    async def late(_: object) -> bool:
        memory.seconds += 20
        assert ingest.seconds_asking == 20.0
        (problem,) = ingest.problems()
        assert problem.startswith(f"survey: the brokers of {memory.topic} have not answered for 2")
        return True

    await ingest.turn()
    assert ingest.seconds_asking == 0.0
    monkeypatch.setattr(ingest._ownership, "commit", late)
    memory.seconds += LEAST_FLUSH_SECONDS - memory.turn_seconds
    ingest.begin()
    await ingest.turn()
    assert ingest.seconds_asking == 0.0


@pytest.mark.parametrize("stuck_at", ["publish", "take_over"])
async def test_what_waits_for_brokers_holds_a_rebalance_up_for_a_while_and_is_counted_again(
    ingest: Ingest, kafka_in_memory: MemoryKafka, monkeypatch: pytest.MonkeyPatch, stuck_at: str
) -> None:
    memory, ownership = kafka_in_memory, ingest._ownership
    await turn(ingest, memory, seconds=2 * LEAST_FLUSH_SECONDS)
    memory.report()

    began = asyncio.Event()

    async def stuck(*_: object) -> None:
        began.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(ownership, "_settings", memory.settings.model_copy(update={"rebalance_timeout_ms": 20}))
    committed = memory.committed()
    with monkeypatch.context() as full:
        full.setattr(memory if stuck_at == "publish" else ownership, stuck_at, stuck)
        turning = asyncio.ensure_future(turn(ingest, memory, seconds=2 * LEAST_FLUSH_SECONDS))
        await began.wait()
        await asyncio.wait_for(ownership.on_partitions_revoked(), 5.0)
        turning.cancel()  # Its next turn may wait in the same way.
        await asyncio.wait([turning])
    assert memory.committed() == committed
    await ownership.on_partitions_assigned(memory.all)
    await turn(ingest, memory, seconds=3 * LEAST_FLUSH_SECONDS)
    assert memory.committed().position == 1
    times = {"publish": 2, "take_over": 1}[stuck_at]
    assert memory.metric("reports_counted_total", collection="survey") == 5 * times, "and committed once"


async def test_what_could_not_be_counted_in_an_outage_is_read_again(
    ingest: Ingest, kafka_in_memory: MemoryKafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = kafka_in_memory
    await turn(ingest, memory, seconds=1.0)
    memory.report()

    async def away(_: object) -> None:
        raise KafkaConnectionError

    with monkeypatch.context() as outage:
        outage.setattr(ingest, "_count", lambda *_: away(None))
        await ingest.turn()
    await turn(ingest, memory, seconds=1.0)
    assert memory.metric("reports_counted_total", collection="survey") == 5.0


async def test_its_silence_is_reckoned_from_the_moment_it_begins(
    ingest: Ingest, kafka_in_memory: MemoryKafka
) -> None:
    kafka_in_memory.seconds += 100
    assert ingest.seconds_overdue == 100.0
    ingest.begin()
    assert ingest.seconds_overdue == 0.0
