"""Tests that refused batches are said in the log by reason, and that a flood of them is a few lines."""

import pytest

from stream_ldp.pipeline.rejection import Reason, Rejected
from stream_ldp.pipeline.statistics.sending import FLUSH_SECONDS
from stream_ldp.service.dead_letters import Refused
from stream_ldp.service.rejection_log import SUM_SECONDS, RejectionLog
from tests.service.memory import MemoryKafka

LATE = Rejected(Reason.LATE, "its window ended at 7 ms")
FOREIGN = Rejected(Reason.UNKNOWN_FINGERPRINT, "fingerprint 00ff")


def record(offset: int) -> Refused:
    return Refused(topic="p.care.reports", partition=3, offset=offset, value=b"secret")


def test_the_first_batch_of_each_reason_is_said_at_once_and_the_others_once_a_minute(
    own_log: pytest.LogCaptureFixture,
) -> None:
    lines = RejectionLog("care")
    for offset in range(5_000):
        lines.add(record(offset), FOREIGN, now=0.001 * offset)
        lines.look(now=0.001 * offset)
    lines.add(record(9_000), LATE, now=10.0)
    lines.look(now=SUM_SECONDS - 1)
    assert [each.getMessage() for each in own_log.records] == [
        "care: a batch is refused as unknown_fingerprint, at p.care.reports partition 3 offset 0: fingerprint 00ff; "
        "such batches become dead letters: stream-ldp dead-letters list",
        "care: a batch is refused as late, at p.care.reports partition 3 offset 9000: its window ended at 7 ms; "
        "such batches become dead letters: stream-ldp dead-letters list",
    ]
    own_log.clear()
    lines.look(now=SUM_SECONDS)
    assert [each.getMessage() for each in own_log.records] == [
        "care: 4999 more batches were refused as unknown_fingerprint in 60 s, the last at partition 3 offset 4999: "
        "fingerprint 00ff"
    ]


def test_after_a_quiet_minute_the_next_batch_is_said_at_once_again(own_log: pytest.LogCaptureFixture) -> None:
    lines = RejectionLog("care")
    lines.add(record(1), LATE, now=0.0)
    lines.look(now=SUM_SECONDS)
    assert len(own_log.records) == 1, "there is nothing to sum up"
    lines.add(record(2), LATE, now=SUM_SECONDS + 5)
    assert "offset 2" in own_log.records[-1].getMessage()


async def test_an_ingest_says_what_it_refuses(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    memory = MemoryKafka(partitions=2)
    ingest = memory.ingest(monkeypatch)
    await ingest.on_start()
    await ingest._ownership.on_partitions_assigned(memory.all)
    for _ in range(3):
        memory.write(b"not a batch")
    until = memory.seconds + SUM_SECONDS + FLUSH_SECONDS
    while memory.seconds < until:
        await ingest.turn()
    lines = [each.getMessage() for each in caplog.records if each.name == "stream_ldp.service.rejection_log"]
    assert len(lines) == 2
    assert "a batch is refused as too_short" in lines[0]
    assert "2 more batches were refused as too_short" in lines[1]
    assert "not a batch" not in caplog.text
