"""Tests of the oracle on logs that are small enough to count by eye, and against the service's own counting."""

import os
from dataclasses import replace

import numpy as np
import pytest

from stream_ldp.collection import Window
from stream_ldp.pipeline import wire
from stream_ldp.pipeline.rejection import Reason
from stream_ldp.pipeline.source_partition import SourcePartition
from stream_ldp.records.collection import JointCollection
from stream_ldp.records.layout import JointLayout
from tests.chaos.oracle import Expected, Form, LoggedBatch, Lost, expect

COLLECTION = JointCollection.parse(
    """
collection: survey
mechanism: {kind: rr-ldp, f: 0.25}
attributes: [{name: bathing, values: [no, yes]}, {name: mobility, values: [none, some, full]}]
min_reports: 1
window: {size: 1s, grace: 500ms, idle_timeout: never, ahead: 5s}
estimates: [{name: bathing, of: [bathing]}]
"""
)
NOW = 1_700_000_000_000
FORMS = {COLLECTION.fingerprint: Form(width=1, bits=COLLECTION.mechanism.bits)}


def batch(offset: int, *, time_ms: int = NOW, reports: int = 1, partition: int = 0, **changed: object) -> LoggedBatch:
    made = wire.Batch(
        fingerprint=COLLECTION.fingerprint,
        batch_id=changed.get("batch_id", os.urandom(16)),  # type: ignore[arg-type]
        time_ms=time_ms,
        rows=np.ones((reports, 1), dtype=np.uint8),
    )
    return logged(offset, wire.encode(made), partition=partition)


def logged(offset: int, value: bytes, *, partition: int = 0) -> LoggedBatch:
    return LoggedBatch(partition=partition, offset=offset, appended_ms=NOW + 3_000, value=value)


def expected(
    *log: LoggedBatch, partitions: int = 1, late: set[tuple[int, int]] | None = None, lost: Lost | None = None
) -> Expected:
    return expect(
        log,
        forms=FORMS,
        window=COLLECTION.window,
        partitions=partitions,
        late=None if late is None else dict.fromkeys(range(partitions), late),
        idle=late is not None,
        lost={} if lost is None else {0: lost},
    )


def test_a_window_is_final_when_every_partition_has_passed_its_end_by_the_grace() -> None:
    log = [batch(0, reports=3), batch(1, time_ms=NOW + 1_500), batch(0, partition=1, time_ms=NOW + 1_499)]
    assert expected(*log, partitions=2).final == set()
    log.append(batch(1, partition=1, time_ms=NOW + 1_500))
    found = expected(*log, partitions=2)
    assert found.final == {NOW}
    assert {start: len(rows) for start, rows in found.windows.items()} == {NOW: 3, NOW + 1_000: 3}


def test_a_batch_is_late_from_the_record_on_that_closes_its_window() -> None:
    log = [batch(0), batch(1, time_ms=NOW + 1_499), batch(2), batch(3, time_ms=NOW + 1_500), batch(4)]
    assert expected(*log).rejected == {(0, 4): Reason.LATE}
    assert expected(*log, late={(0, 2)}).rejected == {(0, 2): Reason.LATE}


def test_a_copy_counts_once_and_is_no_dead_letter() -> None:
    found = expected(batch(0, batch_id=b"x" * 16), batch(1, batch_id=b"x" * 16))
    assert (len(found.windows[NOW]), found.rejected) == (1, {})


def test_what_was_deleted_unread_does_not_count_and_what_a_closed_window_had_does() -> None:
    log = [batch(0), batch(1, time_ms=NOW + 1_600), batch(2, time_ms=NOW + 1_700), batch(3, time_ms=NOW + 1_800)]
    lost = Lost(first=0, end=3, read_to=2, watermark_ms=NOW + 1_600)
    found = expected(*log, lost=lost)
    assert {start: len(rows) for start, rows in found.windows.items()} == {NOW: 1, NOW + 1_000: 1}
    assert found.perhaps == {(0, 2): Reason.LATE}


def test_what_the_log_lost_after_it_was_read_may_be_in_a_final_or_not() -> None:
    log = [batch(0, reports=2), batch(1, reports=3), logged(2, b"junk"), batch(3, reports=5)]
    found = expect(
        log, forms=FORMS, window=COLLECTION.window, partitions=1, spare={(0, 1), (0, 2)}, late={0: {(0, 3)}}
    )
    assert {start: (len(rows), found.spare[start]) for start, rows in found.windows.items()} == {NOW: (5, 3)}
    assert (found.perhaps, found.rejected) == ({(0, 2): Reason.TOO_SHORT}, {(0, 3): Reason.LATE})


def test_only_of_partitions_that_are_not_judged_by_their_log_the_letters_say_what_is_late() -> None:
    later = [
        batch(offset, time_ms=NOW + 1_500 * (offset == 0), partition=each) for each in (0, 1) for offset in (0, 1)
    ]
    assert expect(later, forms=FORMS, window=COLLECTION.window, partitions=2, late={1: ()}).rejected == {
        (0, 1): Reason.LATE
    }


def test_what_no_client_can_read_is_refused_and_so_is_what_no_phase_asks_for() -> None:
    form = Form(width=1, bits=5, valid=lambda body: body != b"\x01", asked=lambda start: start == NOW)
    log = [replace(batch(0), readable=False), batch(1), batch(2, time_ms=NOW + 1_000)]
    odd = expect(log, forms={COLLECTION.fingerprint: form}, window=COLLECTION.window, partitions=1)
    assert odd.rejected == {
        (0, 0): Reason.UNREADABLE_RECORD,
        (0, 1): Reason.UNKNOWN_VALUE,
        (0, 2): Reason.UNKNOWN_VALUE,
    }
    asked = expect(
        log[1:], forms={COLLECTION.fingerprint: replace(form, valid=bool)}, window=COLLECTION.window, partitions=1
    )
    assert asked.rejected == {(0, 2): Reason.CLOSED_PHASE}


def test_windows_that_overlap_share_the_panes_between_them() -> None:
    window = Window.model_validate({"size": "2s", "hop": "500ms"})
    found = expect(
        [batch(0, time_ms=NOW + 700)],
        forms=FORMS,
        window=window,
        partitions=1,
    )
    assert sorted(found.windows) == [NOW - 1_000, NOW - 500, NOW, NOW + 500]


@pytest.mark.parametrize("seed", range(20))
def test_the_service_agrees_with_the_oracle_on_every_byte_that_is_wrong(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = []
    for offset in range(100):
        value = bytearray(batch(offset, time_ms=NOW + int(rng.integers(-3_000, 9_000))).value)
        for _ in range(rng.integers(3)):
            value[rng.integers(len(value))] ^= 1 << rng.integers(8)
        values.append(bytes(value[: rng.integers(len(value) + 1)] if rng.random() < 0.1 else value))
    log = [logged(offset, value) for offset, value in enumerate(values)]
    state = SourcePartition(COLLECTION, JointLayout(COLLECTION), partition=0)
    counted = state.count(range(100), [each.appended_ms for each in log], values)
    assert {(0, place): why.reason for place, why in counted.rejected} == expected(*log).rejected
