"""Tests of the collections that runs are about: what honest users report is counted, and other answers are found."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from stream_ldp.kinds import kind_of, parse_collection, solve
from stream_ldp.pipeline import wire
from stream_ldp.pipeline.rejection import Reason
from stream_ldp.pipeline.statistics import RowCounts
from stream_ldp.pipeline.window_task import WindowTask
from stream_ldp.sets.rounds import Round
from tests.chaos.checks import differences_of_finals
from tests.chaos.kinds import KINDS, answers, forms, text_of
from tests.chaos.oracle import Expected, LoggedBatch, expect
from tests.service.epochs import at
from tests.strings.examples import counted

NOW = 1_800_000_000_000


def collection_of(kind: str) -> Any:
    return parse_collection(text_of(kind, KINDS[kind].windows[0], idle=False).format(name="survey"))


@pytest.mark.parametrize("kind", [name for name, kind in KINDS.items() if kind.batches])
def test_what_honest_users_report_is_counted(kind: str) -> None:
    collection = collection_of(kind)
    make = KINDS[kind].batches
    assert make is not None
    made = make(collection, [NOW, NOW + 1_000], reports=30, rng=np.random.default_rng(1))
    decoded = wire.decode(made, formats={collection.fingerprint: kind_of(collection).layout(collection)})
    assert decoded.rejected == []
    assert decoded.counts.tolist() == [30, 30]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("idle", [False, True])
def test_collections_of_every_kind_can_have_all_of_its_windows(kind: str, idle: bool) -> None:
    for window in KINDS[kind].windows:
        collection = parse_collection(text_of(kind, window, idle=idle).format(name="survey"))
        assert (collection.window.idle_timeout_ms is not None) == (idle or window == "phases")


@pytest.mark.parametrize("kind", [name for name, kind in KINDS.items() if kind.batches is None])
def test_what_users_answer_to_the_first_phase_is_counted_in_its_window_alone(kind: str) -> None:
    collection = collection_of(kind)
    asked = Round.first(collection, epoch=collection.schedule.epoch_at(NOW - NOW % 90_000, 1))
    made = answers(collection, asked, rng=np.random.default_rng(1))
    log = [
        LoggedBatch(partition=0, offset=offset, appended_ms=NOW + 90_000, value=value)
        for offset, value in enumerate(made)
    ]
    found = expect(log, forms=forms(collection), window=collection.window, partitions=1)
    assert found.rejected == {}
    assert set(found.windows) == {asked.start_ms}
    moved = [replace(each, value=moved_by(each.value, collection.window.size_ms)) for each in log]
    reasons = set(expect(moved, forms=forms(collection), window=collection.window, partitions=1).rejected.values())
    assert reasons == (set() if len(collection.series) == 1 else {Reason.CLOSED_PHASE})


def moved_by(batch: bytes, time_ms: int) -> bytes:
    header = wire.Header.of(batch)
    assert header is not None
    return at(header.time_ms + time_ms, batch)


def test_a_value_that_no_attribute_has_is_refused() -> None:
    collection = collection_of("k-rr")
    (form,) = forms(collection).values()
    assert [form.valid(bytes([row])) for row in (0b000, 0b101, 0b110, 0b111)] == [True, True, False, False]


def test_a_final_of_another_kind_with_other_numbers_is_found() -> None:
    collection = collection_of("strings")
    make = KINDS["strings"].batches
    assert make is not None
    (batch,) = make(collection, [NOW], reports=900, rng=np.random.default_rng(1))
    rows = np.frombuffer(batch[wire.HEADER_BYTES :], dtype=np.uint8).reshape(900, -1)
    expected = Expected(windows={NOW: [row.tobytes() for row in rows]}, final={NOW})

    def final(counts: RowCounts) -> Any:
        task: WindowTask[Any, Any] = WindowTask(
            series=collection.series[0], window_ms=NOW, final=True, windows=((1.0, (counts,)),), before=None
        )
        return solve(collection, task)

    honest = final(counted(collection, rows))
    assert honest.strings
    assert differences_of_finals([honest], expected, collection=collection) == []
    other = final(counted(collection, np.repeat(rows[:450], 2, axis=0)))
    assert differences_of_finals([other], expected, collection=collection) == [
        f"window {NOW}: the numbers are not those that are estimated offline"
    ]
