"""Tests of the merge of given partials; tests/machines/test_pipeline.py tests the order in which they arrive."""

import functools
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

import stream_ldp
from stream_ldp.collection import Series
from stream_ldp.kinds import solve
from stream_ldp.pipeline.answer import Status, WindowBounds
from stream_ldp.pipeline.merging import Merge
from stream_ldp.pipeline.partials import Partial, PartialError, PartialGroup, Watermark
from stream_ldp.pipeline.statistics import ReportSums, RowCounts
from stream_ldp.pipeline.windows import FIRST_MS, LAST_MS
from stream_ldp.records.answer import Estimate
from stream_ldp.records.collection import JointCollection
from stream_ldp.records.series import EstimateSpec
from stream_ldp.records.solve import row_counts, warm_start
from stream_ldp.sets.layout import PhaseLayout
from tests.client.examples import MINUTE_MS, collection_of, estimate_of
from tests.sets.examples import collection_of as sets_collection

PACKAGE = Path(stream_ldp.__file__).parent

SURVEY = collection_of(window="grace: 5s")
JOINT, MARGINAL = SURVEY.estimates
CLOSED_MS = MINUTE_MS + 5_000


def partial(
    reports: int, *, collection: JointCollection = SURVEY, spec: EstimateSpec = JOINT, row: int = 1, **changes: Any
) -> Partial:
    bits = len(collection.bits_of(spec.of))
    fields: dict[str, Any] = {
        "collection": collection.name,
        "fingerprint": collection.fingerprint.hex(),
        "partition": 0,
        "generation": 1,
        "pane_ms": 0,
        "pane_length_ms": collection.window.pane_ms,
        "of": spec.of,
        "segment": 0,
        "end": 10,
        "counts": RowCounts.of(np.full((reports, 1), row, dtype=np.uint8), bits=bits),
    }
    return Partial(**(fields | changes))


def counted(count: int) -> RowCounts:
    rows = np.ones((1, 1), dtype=np.uint8)
    return RowCounts(bits=len(SURVEY.bits_of(JOINT.of)), rows=rows, counts=np.array([count]))


def watermark(
    time_ms: int, *, partition: int = 0, generation: int = 1, collection: JointCollection = SURVEY
) -> Watermark:
    return Watermark(
        collection=collection.name,
        fingerprint=collection.fingerprint.hex(),
        partition=partition,
        generation=generation,
        time_ms=time_ms,
    )


def merge_of(*records: Partial | Watermark, partitions: int = 1, collection: JointCollection = SURVEY) -> Merge:
    merge = Merge(collection, partitions=partitions)
    for record in records:
        merge.apply(record)
    return merge


def due(merge: Merge) -> tuple[int, Series] | None:
    """Return the window with reports, by its start, and the series that have to be made final next."""
    task = merge.due()
    return None if task is None or task.silent_until_ms else (task.window_ms, task.series)


def decide(merge: Merge, start_ms: int, series: Series, *, size_ms: int = MINUTE_MS) -> None:
    """Let a window of a series have its final."""
    bounds = WindowBounds(start_ms=start_ms, end_ms=start_ms + size_ms)
    merge.decide(estimate_of(estimate=series.name, window=bounds))


def test_a_group_is_merged_as_its_partials_are_or_refused_whole() -> None:
    """Half of a record would be in answers, and nothing would wait for the other half."""
    single, pair = (partial(3, spec=spec) for spec in (MARGINAL, JOINT))
    apart, joined = merge_of(single, pair), Merge(SURVEY, partitions=1)
    joined.apply(PartialGroup((single, pair)))
    assert joined.undecided() == apart.undecided() != []
    with pytest.raises(PartialError, match="more than the 10 records"):
        (refusing := Merge(SURVEY, partitions=1)).apply(PartialGroup((single, replace(pair, counts=counted(2**40)))))
    assert refusing.panes == 0


def test_counts_of_another_collection_or_an_unknown_partition_are_refused() -> None:
    merge = merge_of(partitions=2)
    with pytest.raises(PartialError, match=r"of fingerprint 00 cannot be merged into collection 'care-survey'"):
        merge.apply(partial(1, fingerprint="00"))
    with pytest.raises(PartialError, match="source partition 2, but the reports topic has 2 partitions"):
        merge.apply(watermark(0, partition=2))
    assert merge.panes == 0


@pytest.mark.parametrize(
    ("record", "why"),
    [
        (partial(1, pane_ms=2**62 // MINUTE_MS * MINUTE_MS), "beyond the years 1 to 9999"),
        (partial(1, pane_ms=-(2**62) // MINUTE_MS * MINUTE_MS), "beyond the years 1 to 9999"),
        (partial(1, pane_ms=(LAST_MS // MINUTE_MS) * MINUTE_MS), "beyond the years 1 to 9999"),
        (watermark(LAST_MS + 1), "a watermark of 253402300800000 ms, beyond the years 1 to 9999"),
        (watermark(FIRST_MS - 1), "beyond the years 1 to 9999"),
        (partial(1, end=0), "1 reports, more than the 0 records before it can hold"),
        (partial(1, end=2**20, counts=counted(2**40 + 1)), "more than the 1048576 records before it can hold"),
        (partial(1, end=1, counts=counted(2**20 + 1)), "1048577 reports, more than the 1 records before it can hold"),
    ],
)
def test_times_that_nobody_can_write_and_more_reports_than_records_can_hold_are_refused(
    record: Partial | Watermark, why: str
) -> None:
    merge = merge_of()
    with pytest.raises(PartialError, match=re.escape(why)):
        merge.apply(record)
    assert (merge.panes, merge.watermark_ms, merge.due()) == (0, None, None)


def test_reports_of_a_phase_in_a_pane_that_does_not_ask_it_are_refused() -> None:
    films = sets_collection()
    layout = PhaseLayout(films)
    (of,) = layout.tallies()
    counts = ReportSums.of(reports=0, values=np.zeros(layout.oracle.counters, dtype=np.int64))
    merge = Merge(films, partitions=1)
    merge.expect(layout)
    source = {"collection": films.name, "fingerprint": films.fingerprint.hex(), "partition": 0, "generation": 1}

    def phase_1(pane_ms: int) -> Partial:
        pane = {"pane_ms": pane_ms, "pane_length_ms": films.window.pane_ms, "segment": 0, "end": 1}
        return Partial(**source, **pane, of=of, counts=counts)  # type: ignore[arg-type]

    merge.apply(phase_1(0))
    with pytest.raises(PartialError, match="in a pane in which nobody reports to it"):
        merge.apply(phase_1(films.window.size_ms))


def test_the_last_windows_that_can_be_written_are_answered() -> None:
    last_ms = (LAST_MS // MINUTE_MS - 1) * MINUTE_MS
    merge = merge_of(partial(1, pane_ms=last_ms), watermark(LAST_MS))
    task = merge.due()
    assert task is not None
    assert str(solve(SURVEY, task).window) == "9999-12-31T23:58:00Z/9999-12-31T23:59:00Z"


def test_a_window_is_final_only_once_all_partitions_have_passed_it() -> None:
    merge = merge_of(partial(3), watermark(CLOSED_MS), partitions=2)
    assert (merge.watermark_ms, due(merge)) == (None, None)
    merge.apply(watermark(CLOSED_MS - 1, partition=1))
    assert (merge.watermark_ms, due(merge), merge.changed(JOINT)) == (CLOSED_MS - 1, None, [0])
    merge.apply(partial(4, end=11))
    merge.apply(watermark(CLOSED_MS, partition=1))
    assert (due(merge), merge.changed(JOINT)) == ((0, JOINT), [])


def test_tasks_of_a_window_share_what_its_solves_leave_until_its_final() -> None:
    """Of a few windows: a collection of many open ones holds no more in memory than of those that close."""
    merge = merge_of(*(partial(1, pane_ms=number * MINUTE_MS) for number in range(9)))
    first = merge.task(0, JOINT, final=False).scratch
    assert merge.task(0, JOINT, final=True).scratch is first
    assert merge.task(0, MARGINAL, final=False).scratch is not first
    assert merge.task(MINUTE_MS, JOINT, final=False).scratch is not first
    merge.task(0, JOINT, final=False).scratch.left = "counts"
    decide(merge, 0, JOINT)
    assert merge.task(0, JOINT, final=False).scratch.left is None
    for number in range(9):
        merge.task(number * MINUTE_MS, JOINT, final=False).scratch.left = number
    assert merge.task(8 * MINUTE_MS, JOINT, final=False).scratch.left == 8
    assert merge.task(0, JOINT, final=False).scratch.left is None


def test_finals_are_due_in_the_order_of_time() -> None:
    merge = merge_of(
        partial(1, spec=MARGINAL, pane_ms=MINUTE_MS),
        partial(1, pane_ms=MINUTE_MS),
        partial(1, spec=MARGINAL),
        partial(1),
        watermark(10 * MINUTE_MS),
    )
    for start_ms, series in ((0, JOINT), (0, MARGINAL), (MINUTE_MS, JOINT), (MINUTE_MS, MARGINAL)):
        assert due(merge) == (start_ms, series)
        decide(merge, start_ms, series)
    assert due(merge) is None


def test_a_final_of_another_window_length_decides_only_windows_that_ended_by_then() -> None:
    """Windows used to be 90 s long; the one that ended at 90 s decides all windows that ended by then."""
    merge = merge_of(partial(1), partial(1, pane_ms=MINUTE_MS), watermark(10 * MINUTE_MS))
    decide(merge, 0, JOINT, size_ms=90_000)
    assert due(merge) == (MINUTE_MS, JOINT)


def test_the_warm_start_is_from_the_latest_final_not_the_one_read_last() -> None:
    merge = merge_of(partial(1, pane_ms=2 * MINUTE_MS), watermark(10 * MINUTE_MS))
    latest = estimate_of(window=WindowBounds(start_ms=MINUTE_MS, end_ms=2 * MINUTE_MS))
    merge.decide(latest)
    merge.decide(estimate_of(probability=[[1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]))
    start = warm_start(merge.task(2 * MINUTE_MS, JOINT, final=True), sizes=(2, 3))
    assert start is not None
    assert np.array_equal(start, latest.joint())


def test_panes_of_another_length_are_ignored() -> None:
    merge = merge_of(partial(1, pane_length_ms=30_000), partial(1, pane_ms=30_000, pane_length_ms=30_000))
    assert merge.panes == 0


def test_a_final_starts_from_the_one_before() -> None:
    merge = merge_of(partial(1, pane_ms=MINUTE_MS), watermark(10 * MINUTE_MS))
    assert warm_start(merge.task(MINUTE_MS, JOINT, final=True), sizes=(2, 3)) is None
    before = estimate_of()
    merge.decide(before)
    start = warm_start(merge.task(MINUTE_MS, JOINT, final=True), sizes=(2, 3))
    assert start is not None
    assert np.array_equal(start, before.joint())


def test_a_merge_keeps_the_final_before_a_decided_window() -> None:
    merge = merge_of()
    first = estimate_of()
    second = estimate_of(window=WindowBounds(start_ms=2 * MINUTE_MS, end_ms=3 * MINUTE_MS))
    for each in (first, second):
        merge.decide(each)
        assert merge.earlier(0) == {}
        assert merge.earlier(2 * MINUTE_MS) == {first.series: first}
    assert merge.earlier(3 * MINUTE_MS) == {first.series: second}


def test_a_final_does_not_start_from_one_of_another_shape() -> None:
    """An earlier version of the collection had an estimate of this name with other attributes."""
    merge = merge_of(partial(1, spec=MARGINAL, pane_ms=MINUTE_MS), watermark(10 * MINUTE_MS))
    merge.decide(estimate_of(estimate=MARGINAL.name))
    assert warm_start(merge.task(MINUTE_MS, MARGINAL, final=True), sizes=SURVEY.sizes_of(MARGINAL)) is None


def test_every_segment_is_counted_exactly_once() -> None:
    merge = merge_of(
        partial(5, end=10),
        partial(2, segment=1, end=10),
        partial(7, end=20),
        partial(6, end=15),
        partial(11, partition=1, end=5),
        partitions=2,
    )
    assert merge.task(0, JOINT, final=False).reports == 7 + 2 + 11


def test_a_former_owner_adds_nothing_to_what_its_successor_closed() -> None:
    """It reads on without knowing that the window was closed after a long silence of the partition."""
    merge = merge_of(
        partial(5, generation=2, end=10),
        partial(9, generation=1, end=99),
        partial(1, generation=1, segment=1, end=99),
    )
    merge.apply(watermark(CLOSED_MS, generation=2))
    assert merge.task(0, JOINT, final=True).reports == 5


def test_a_window_that_only_a_former_owner_counted_is_not_published() -> None:
    merge = merge_of(
        watermark(CLOSED_MS, generation=2), partial(9, generation=1), watermark(CLOSED_MS - 1, generation=1)
    )
    assert due(merge) is None


REMEMBERING = collection_of(window="grace: 5s, memory: 0.2")


def test_what_a_former_owner_closed_itself_is_kept() -> None:
    merge = merge_of(
        partial(9, generation=1, collection=REMEMBERING),
        watermark(CLOSED_MS, generation=1, collection=REMEMBERING),
        partial(4, generation=2, pane_ms=MINUTE_MS, collection=REMEMBERING),
        watermark(CLOSED_MS + MINUTE_MS, generation=2, collection=REMEMBERING),
        collection=REMEMBERING,
    )
    spec = REMEMBERING.estimates[0]
    assert due(merge) == (0, spec)
    decide(merge, 0, spec)
    assert due(merge) == (MINUTE_MS, spec)
    merge.forget()
    (_, own), (_, before), _ = merge.task(MINUTE_MS, spec, final=True).windows
    assert [part.reports for part in own] == [4]
    assert [part.reports for part in before] == [9]


def test_the_weight_of_remembered_windows_decays_with_age() -> None:
    """Weights 1, 1/5 and 1/25; 1/125 is below one in a hundred. Kish's number: (sum w n)^2 / sum w^2 n."""
    reports = (40, 100, 500, 10_000)
    merge = merge_of(
        *(
            partial(n, collection=REMEMBERING, pane_ms=(3 - age) * MINUTE_MS, row=1 + age)
            for age, n in enumerate(reports)
        ),
        collection=REMEMBERING,
    )
    task = merge.task(3 * MINUTE_MS, REMEMBERING.estimates[0], final=False)
    assert [weight for weight, _ in task.windows] == pytest.approx([1, 0.2, 0.04])
    assert task.reports == 40
    counts = row_counts(task, bits=5)
    effective = (40 + 20 + 20) ** 2 / (40 + 4 + 0.8)
    assert counts.reports == pytest.approx(effective)
    assert counts.rows[:, 0].tolist() == [1, 2, 3]
    assert (counts.counts / effective).tolist() == pytest.approx([40 / 80, 20 / 80, 20 / 80])


def test_a_window_without_reports_has_an_effective_number_of_zero() -> None:
    task = Merge(REMEMBERING, partitions=1).task(0, REMEMBERING.estimates[0], final=False)
    assert (task.reports, row_counts(task, bits=5).reports) == (0, 0)


def test_a_window_counted_by_a_former_owner_alone_is_withdrawn_when_its_successor_closes_it() -> None:
    merge = merge_of(partial(9, generation=1))
    assert merge.changed(JOINT) == [0]
    merge.apply(watermark(CLOSED_MS, generation=2))
    assert (due(merge), merge.changed(JOINT)) == (None, [])
    # The former one had closed it, too, as its last word on the log tells: its successor went on from there.
    merge.apply(watermark(CLOSED_MS, generation=1))
    assert due(merge) == (0, JOINT)


@pytest.mark.parametrize(("window", "looks_at"), [("grace: 5s", 1), ("grace: 5s, memory: 0.2", 3), ("hop: 30s", 1)])
def test_a_pane_is_kept_until_the_last_window_that_needs_it_closes(window: str, looks_at: int) -> None:
    collection = collection_of(window=window)
    pane_ms = collection.window.pane_ms
    merge = merge_of(partial(1, collection=collection), collection=collection)
    # The last window that looks at the pane begins `looks_at` windows less a pane after the pane's own first.
    last_closes = looks_at * MINUTE_MS - pane_ms + pane_ms + collection.window.grace_ms
    merge.apply(watermark(last_closes - 1, collection=collection))
    merge.forget()
    assert merge.panes == 1
    merge.apply(watermark(last_closes, collection=collection))
    merge.forget()
    # The final of the first window has yet to be solved.
    assert merge.panes == 1
    while (each := due(merge)) is not None:
        decide(merge, *each)
    merge.forget()
    assert merge.panes == 0
    merge.apply(partial(1, collection=collection, end=11))
    assert merge.panes == 0


def operations(work: Callable[[], object]) -> int:
    """Count the interpreter's operations in the package that some work takes; the same on every machine."""
    number = 0

    def count(frame: FrameType, event: str, _: object) -> Any:
        nonlocal number
        if not frame.f_code.co_filename.startswith(str(PACKAGE)):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        number += event == "opcode"
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        work()
    finally:
        sys.settrace(before)
    return number


@pytest.mark.parametrize("window", ["grace: 5s", "grace: 5s, hop: 10s", "grace: 5s, memory: 0.2"])
def test_the_work_after_an_outage_grows_as_the_number_of_windows_to_decide(window: str) -> None:
    """If every final looked at all windows, five times as many windows would be 25 times the work."""
    collection = collection_of(window=window)
    assert operations(functools.partial(catch_up, collection, 15)) < 6 * operations(
        functools.partial(catch_up, collection, 3)
    )


def catch_up(collection: JointCollection, windows: int) -> None:
    """Let a merge read panes with reports, and what closes them all, and decide window by window."""
    merge = backlog_of(collection, windows)
    finals = 0
    while (each := due(merge)) is not None:
        decide(merge, *each)
        merge.forget()
        finals += 1
    assert finals == 2 * (windows + collection.window.panes - 1)
    assert merge.panes == 0


def backlog_of(collection: JointCollection, panes: int) -> Merge:
    merge, pane_ms = Merge(collection, partitions=2), collection.window.pane_ms
    for place in range(panes):
        for spec in collection.estimates:
            merge.apply(partial(1, collection=collection, spec=spec, pane_ms=place * pane_ms, partition=place % 2))
        assert merge.changed(collection.estimates[0])
    for partition in (0, 1):
        merge.apply(watermark(2 * panes * pane_ms + 3 * MINUTE_MS, partition=partition, collection=collection))
    return merge


def test_a_merge_bounds_the_windows_of_one_call() -> None:
    """A call keeps the event loop: a jump of the watermark by a day of windows must not stop it for seconds."""
    small, large = backlog_of(SURVEY, 1_000), backlog_of(SURVEY, 2_000)
    assert operations(large.refresh) < 1.2 * operations(small.refresh)
    assert not large.refresh()
    while not large.refresh():
        pass
    assert due(large) == (0, JOINT)


def test_a_merge_forgets_a_bounded_number_of_panes_in_one_call() -> None:
    merge = backlog_of(SURVEY, 2_000)
    for series in (JOINT, MARGINAL):
        decide(merge, 1_999 * MINUTE_MS, series)
    merge.forget()
    assert 0 < merge.panes < 2_000
    while merge.panes:
        merge.forget()
    merge.apply(partial(1, end=11))
    assert merge.panes == 0


def test_a_merge_remembers_no_change_of_a_pane_that_it_has_forgotten() -> None:
    merge = merge_of(partial(10))
    assert merge.has_changed(JOINT)
    merge.apply(watermark(CLOSED_MS))
    for series in (JOINT, MARGINAL):
        decide(merge, 0, series)
    merge.forget()
    assert not merge.has_changed(JOINT)


@pytest.mark.parametrize("window", ["grace: 5s", "grace: 5s, hop: 10s"])
def test_what_changed_is_looked_at_without_what_did_not(window: str) -> None:
    """With thousands of open windows, each report would otherwise cost a look at all of them."""
    collection = collection_of(window=window)
    series, pane_ms = collection.estimates[0], collection.window.pane_ms

    def one_more(open_panes: int) -> int:
        merge = Merge(collection, partitions=1)
        for place in range(open_panes):
            merge.apply(partial(1, collection=collection, spec=series, pane_ms=place * pane_ms))
        assert len(merge.changed(series)) == open_panes + collection.window.panes - 1
        assert not merge.has_changed(series)

        def change() -> None:
            merge.apply(partial(2, collection=collection, spec=series, pane_ms=0, end=11))
            assert len(merge.changed(series)) == collection.window.panes

        return operations(change)

    assert one_more(1_000) < 1.1 * one_more(10)


def silence(merge: Merge) -> tuple[int, int, str] | None:
    """Return the first and last minute of windows of which nobody reported has to be said next, and the series."""
    task = merge.due()
    if task is None or task.silent_until_ms is None:
        return None
    assert task.final
    assert task.reports == 0
    return task.window_ms // MINUTE_MS, task.silent_until_ms // MINUTE_MS, task.series.name


def fall_silent(merge: Merge, start_minute: int, end_minute: int) -> None:
    bounds = WindowBounds(start_ms=start_minute * MINUTE_MS, end_ms=end_minute * MINUTE_MS)
    answer = estimate_of(estimate=JOINT.name, window=bounds, status=Status.NO_REPORTS)
    assert solve(SURVEY, merge.due()).window == bounds  # type: ignore[arg-type]
    merge.decide(answer)


def closed_before(minute: int) -> Watermark:
    return watermark(minute * MINUTE_MS + 5_000)


def test_a_collection_to_which_nobody_ever_reported_says_nothing() -> None:
    assert merge_of(closed_before(1_000)).due() is None
    assert merge_of(partial(1), watermark(CLOSED_MS - 1)).due() is None


def test_only_the_first_silent_window_is_due_at_once() -> None:
    merge = merge_of(partial(1), closed_before(1))
    decide(merge, 0, JOINT)
    assert merge.due() is None
    merge.apply(closed_before(2))
    assert silence(merge) == (1, 2, JOINT.name)
    fall_silent(merge, 1, 2)
    merge.apply(closed_before(1_000))
    assert merge.due() is None


def test_all_other_windows_without_reports_are_reported_together_when_somebody_has_reported() -> None:
    merge = merge_of(partial(1), closed_before(500))
    decide(merge, 0, JOINT)
    fall_silent(merge, 1, 2)
    merge.apply(partial(1, pane_ms=500 * MINUTE_MS))
    assert merge.due() is None
    merge.apply(closed_before(501))
    assert silence(merge) == (2, 500, JOINT.name)
    fall_silent(merge, 2, 500)
    assert due(merge) == (500 * MINUTE_MS, JOINT)
    # The silence is no answer from which the next one could start.
    task = merge.due()
    assert task is not None
    assert task.before is not None
    assert task.before.window.start_ms == 0


def test_a_merge_that_finds_silences_on_the_log_tells_them_no_second_time() -> None:
    merge = merge_of(partial(1, pane_ms=500 * MINUTE_MS), closed_before(501))
    said = [
        estimate_of(window=WindowBounds(start_ms=start * MINUTE_MS, end_ms=end * MINUTE_MS), status=status)
        for start, end, status in (
            (0, 1, Status.ANSWERED),
            (1, 2, Status.NO_REPORTS),
            (2, 500, Status.NO_REPORTS),
        )
    ]
    for answer in said[:2]:
        merge.decide(answer)
    assert silence(merge) == (2, 500, JOINT.name)
    merge.decide(said[2])
    assert due(merge) == (500 * MINUTE_MS, JOINT)
    assert [each.window.start_ms for each in merge.decided] == [0]


def test_a_sliding_window_is_without_reports_if_all_its_panes_are() -> None:
    collection = collection_of(window="grace: 5s, hop: 20s")
    merge = merge_of(partial(1, collection=collection), collection=collection)
    merge.apply(watermark(20 * MINUTE_MS, collection=collection))
    for start_ms in (-40_000, -20_000, 0):
        assert due(merge) == (start_ms, collection.estimates[0])
        decide(merge, start_ms, collection.estimates[0])
    task = merge.due()
    assert task is not None
    assert (task.window_ms, task.silent_until_ms) == (20_000, 80_000)


def test_the_answer_to_windows_without_reports_says_so_and_nothing_else() -> None:
    merge = merge_of(partial(1), closed_before(2))
    decide(merge, 0, JOINT)
    task = merge.due()
    assert task is not None
    answer = solve(SURVEY, task)
    assert isinstance(answer, Estimate)
    assert (answer.status, answer.final, answer.reports) == (Status.NO_REPORTS, True, 0)
    assert answer.window == WindowBounds(start_ms=MINUTE_MS, end_ms=2 * MINUTE_MS)
    assert not answer.fit.certified
    assert Estimate.from_bytes(answer.to_bytes()) == answer
    assert answer.key == b"bathing-mobility|final|60000"


def test_where_windows_of_few_reports_are_withheld_those_of_none_are_withheld_too() -> None:
    """That there was nobody says something of each user, as that there were few does."""
    shy = SURVEY.model_copy(update={"min_reports": 5})
    merge = merge_of(partial(9), closed_before(10), collection=shy)
    decide(merge, 0, JOINT)
    assert merge.due() is None
