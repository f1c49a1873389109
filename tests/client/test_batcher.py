"""Tests of the batcher, which gathers reports into batches."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from stream_ldp.client.batcher import MAX_BATCH_BYTES, Batcher, most_reports
from stream_ldp.mechanisms import OSEntropy, SeededEntropy
from stream_ldp.pipeline.windows import pane_of
from stream_ldp.pipeline.wire import Batch, encode
from tests.client.examples import MINUTE_MS, collection_of

SIZE = 4


def rows_of(*reports: int) -> NDArray[np.uint8]:
    return np.array(reports, dtype=np.uint8).reshape(-1, 1)


def batcher() -> Batcher:
    return Batcher(collection_of(), max_reports=SIZE, entropy=OSEntropy())


def reports_of(batches: list[Batch]) -> list[int]:
    return sorted(int(row) for batch in batches for row in batch.rows.ravel())


@given(
    st.lists(
        st.tuples(st.lists(st.integers(0, 255), max_size=11), st.integers(-2 * MINUTE_MS, 3 * MINUTE_MS)), max_size=8
    )
)
def test_every_report_is_in_one_batch_of_its_own_pane(arrivals: list[tuple[list[int], int]]) -> None:
    gatherer = batcher()
    window = collection_of().window
    batches: list[Batch] = []
    for reports, time_ms in arrivals:
        batches += gatherer.add(rows_of(*reports), time_ms=time_ms)
        assert gatherer.count < SIZE
    if rest := gatherer.cut():
        batches.append(rest)
    assert all(1 <= len(batch.rows) <= SIZE for batch in batches)
    for pane in {pane_of(time_ms, window) for _, time_ms in arrivals}:
        sent = [report for reports, time_ms in arrivals for report in reports if pane_of(time_ms, window) == pane]
        assert reports_of([batch for batch in batches if pane_of(batch.time_ms, window) == pane]) == sorted(sent)


def test_a_batch_has_the_rounded_time_of_its_newest_report() -> None:
    gatherer = batcher()
    gatherer.add(rows_of(1), time_ms=7_000)
    gatherer.add(rows_of(2), time_ms=13_999)
    batch = gatherer.cut()
    assert batch is not None
    assert batch.time_ms == 12_000


def test_a_report_of_the_next_pane_does_not_join_a_batch_of_this_one() -> None:
    gatherer = batcher()
    assert gatherer.add(rows_of(1, 2), time_ms=MINUTE_MS - 1) == []
    (cut,) = gatherer.add(rows_of(3), time_ms=MINUTE_MS)
    assert reports_of([cut]) == [1, 2]
    assert cut.time_ms == MINUTE_MS - 6_000


def test_the_place_of_a_report_in_its_batch_does_not_tell_when_it_was_made() -> None:
    gatherer = Batcher(collection_of(), max_reports=200, entropy=SeededEntropy(1))
    (batch,) = gatherer.add(rows_of(*range(200)), time_ms=0)
    places = batch.rows.ravel().astype(np.int64)
    assert sorted(places) == list(range(200))
    # Spearman's correlation of 200 random places has standard deviation 0.071: seeded, and 5 of them otherwise.
    assert abs(np.corrcoef(places, np.arange(200))[0, 1]) < 0.36


def test_no_two_batches_have_the_same_id() -> None:
    gatherer = batcher()
    batches = gatherer.add(rows_of(*([0] * 400)), time_ms=0)
    assert len({batch.batch_id for batch in batches}) == 100
    assert {len(batch.batch_id) for batch in batches} == {16}


def test_without_reports_there_is_no_batch() -> None:
    assert batcher().cut() is None
    assert batcher().add(rows_of(), time_ms=0) == []


@pytest.mark.parametrize("bits", [1, 9, 4_000])
def test_as_many_reports_as_fit_make_a_record_that_a_broker_takes(bits: int) -> None:
    rows = np.zeros((most_reports(bits), -(-bits // 8)), dtype=np.uint8)
    sizes = [
        len(encode(Batch(fingerprint=bytes(16), batch_id=bytes(16), time_ms=0, rows=rows[:count])))
        for count in (len(rows), len(rows) - 1)
    ]
    assert sizes[0] <= MAX_BATCH_BYTES < 2 * sizes[0] - sizes[1]


def test_a_report_larger_than_a_record_is_sent_by_itself() -> None:
    assert most_reports(8 * MAX_BATCH_BYTES) == 1
