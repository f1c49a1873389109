"""Tests of one source partition alone.

The interplay of partitions, crashes and owners is tested in tests/machines/test_pipeline.py.
"""

import math
import tracemalloc
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_ldp.kinds import kind_of
from stream_ldp.mechanisms.packing import row_width
from stream_ldp.pipeline import wire
from stream_ldp.pipeline.answer import moment
from stream_ldp.pipeline.rejection import Reason
from stream_ldp.pipeline.source_checkpoint import Checkpoint
from stream_ldp.pipeline.source_partition import SourcePartition
from stream_ldp.records.collection import JointCollection
from stream_ldp.records.layout import JointLayout
from stream_ldp.sets.collection import ItemCollection

TEXT = """
collection: survey
mechanism: {kind: rr-ldp, f: 0.5}
attributes: [{name: answer, values: [no, yes]}]
window: {size: 10s, grace: 2s, idle_timeout: 5s, ahead: 3s, max_age: 1m}
estimates: [{name: answer, of: [answer]}]
"""
SURVEY = JointCollection.parse(TEXT)
LAYOUT = JointLayout(SURVEY)
NOW = 1_000_000_000


def batch(time_ms: int, *, reports: int = 1, batch_id: int = 0) -> bytes:
    return wire.encode(
        wire.Batch(
            fingerprint=SURVEY.fingerprint,
            batch_id=batch_id.to_bytes(16, "little"),
            time_ms=time_ms,
            rows=np.ones((reports, 1), dtype=np.uint8),
        )
    )


def started(*times_ms: int, collection: JointCollection = SURVEY) -> SourcePartition:
    """Make a partition that has claimed, read and flushed one batch of each time, appended at that time."""
    state = SourcePartition(collection, JointLayout(collection), partition=0)
    state.take_changes()
    if times_ms:
        records = [batch(time_ms, batch_id=i) for i, time_ms in enumerate(times_ms)]
        state.count(range(len(times_ms)), times_ms, records)
        state.take_changes()
    return state


def test_a_consumer_group_that_an_operator_reset_resumes_at_its_offset() -> None:
    state = SourcePartition(SURVEY, LAYOUT, partition=0, checkpoint=Checkpoint.parse(40, ""), generation=7)
    assert (state.position, state.watermark_ms, state.replaying) == (40, None, False)
    claim = state.take_changes()
    assert claim is not None
    assert (claim.checkpoint.generation, claim.checkpoint.offset, claim.checkpoint.position) == (7, 40, 40)


def test_a_generation_is_numbered_above_all_earlier_ones() -> None:
    """The clock that numbers generations may have been set back."""
    before = Checkpoint(generation=100, offset=0, position=0, watermark_ms=None, watermark_generation=1)
    for clock, generation in ((50, 101), (200, 200)):
        changes = SourcePartition(SURVEY, LAYOUT, partition=0, checkpoint=before, generation=clock).take_changes()
        assert changes is not None
        assert changes.checkpoint.generation == generation


def test_a_log_that_lost_its_beginning_is_read_from_where_it_now_begins() -> None:
    checkpoint = Checkpoint(generation=1, offset=10, position=20, watermark_ms=NOW, watermark_generation=1)
    moved = SourcePartition(SURVEY, LAYOUT, partition=0, checkpoint=checkpoint.moved_to(30))
    assert (moved.position, moved.replaying, moved.watermark_ms) == (30, False, NOW)
    # A commit from within what is gone, or from after it: no verdict is reported twice.
    assert [checkpoint.moved_to(beginning).position for beginning in (15, 30)] == [20, 30]


def test_a_flush_without_news_writes_nothing() -> None:
    state = started(NOW)
    assert state.take_changes() is None
    state.count([1], [NOW], [b"garbage"])
    refused = state.take_changes()
    assert refused is not None
    assert (refused.partials, refused.watermark, refused.checkpoint.position) == ([], None, 2)


@pytest.mark.parametrize(
    ("time_ms", "why"),
    [
        (
            NOW + 3_001,
            f"future_time: event time {moment(NOW + 3_001)}: more than 3000 ms ahead of the broker's clock",
        ),
        (NOW - 60_001, f"past_time: event time {moment(NOW - 60_001)}: more than 60000 ms behind the broker's clock"),
        (NOW - 13_000, f"late: event time {moment(NOW - 13_000)}: its window had closed"),
        (2**63 - 1, f"future_time: event time {2**63 - 1} ms: more than 3000 ms ahead of the broker's clock"),
        (-(2**63), f"past_time: event time {-(2**63)} ms: more than 60000 ms behind the broker's clock"),
    ],
)
def test_a_batch_whose_time_is_out_of_reach_or_late_is_rejected(time_ms: int, why: str) -> None:
    state = started(NOW)
    counted = state.count([1], [NOW], [batch(time_ms, reports=3, batch_id=9)])
    assert [(index, str(rejected)) for index, rejected in counted.rejected] == [(0, why)]
    assert counted.reports == 0
    assert counted.late == (3 if "late" in why else 0)
    assert state.watermark_ms == NOW


@pytest.mark.parametrize("time_ms", [NOW + 3_000, NOW - 60_000])
def test_the_furthest_times_within_reach_are_accepted(time_ms: int) -> None:
    state = started()
    assert state.count([0], [NOW], [batch(time_ms)]).reports == 1


def test_one_clock_that_runs_ahead_makes_nobody_late() -> None:
    """NOW + 3,000 would close the pane before NOW; the broker's clock says that it is NOW."""
    state = started(NOW)
    assert state.count([1], [NOW], [batch(NOW + 3_000, batch_id=1)]).reports == 1
    assert state.watermark_ms == NOW


def test_silence_while_records_are_replayed_is_not_idleness() -> None:
    checkpoint = Checkpoint(generation=1, offset=0, position=2, watermark_ms=NOW, watermark_generation=1)
    state = SourcePartition(SURVEY, LAYOUT, partition=0, checkpoint=checkpoint)
    assert not state.observe_silence(60_000)
    state.count([0, 1], [NOW, NOW], [batch(NOW, batch_id=0), batch(NOW, batch_id=1)])
    assert not state.observe_silence(4_999)
    assert state.observe_silence(1)


def test_the_absence_of_the_broker_does_not_make_a_partition_idle() -> None:
    state = started(NOW)
    assert not state.observe_silence(4_000)
    state.interrupt_silence()
    assert not state.observe_silence(4_000)


def late_after_an_outage(times_ms: list[int], *, grace: str) -> int:
    """Count the reports that are late when clients deliver what they kept through 20 s, in this order."""
    collection = JointCollection.parse(TEXT.replace("grace: 2s", f"grace: {grace}"))
    state = started(NOW - 20_000, collection=collection)
    return sum(
        state.count([offset], [NOW], [batch(time_ms, batch_id=offset)]).late
        for offset, time_ms in enumerate(times_ms, start=1)
    )


@given(st.permutations(range(NOW - 20_000, NOW + 1, 2_500)))
def test_kept_reports_are_not_late_within_the_grace(
    times_ms: list[int],
) -> None:
    assert late_after_an_outage(times_ms, grace="20s") == 0


def test_the_first_that_delivers_makes_the_others_late_if_the_grace_is_shorter() -> None:
    assert late_after_an_outage([NOW, *range(NOW - 20_000, NOW, 2_500)], grace="2s") == 4


def test_a_partition_without_an_idle_timeout_never_becomes_idle() -> None:
    state = started(NOW, collection=JointCollection.parse(TEXT.replace("idle_timeout: 5s", "idle_timeout: never")))
    assert not state.observe_silence(10**9)


def idle_watermark(state: SourcePartition, silent_ms: float, others_ms: int | None) -> int | None:
    state.observe_silence(silent_ms)
    state.advance_idle(others_ms)
    changes = state.take_changes()
    return None if changes is None or changes.watermark is None else changes.watermark.time_ms


def test_the_last_windows_close_when_all_partitions_are_silent() -> None:
    """The pane of NOW ends at NOW + 10 s and closes 2 s later; the clock goes on 5 s after the last report."""
    assert idle_watermark(started(NOW + 2_000), 14_999, None) is None
    assert idle_watermark(started(NOW + 2_000), 15_000, None) == NOW + 12_000


def test_a_silent_partition_does_not_hold_up_the_others() -> None:
    assert idle_watermark(started(NOW), 5_000, NOW + 100_000) == NOW + 100_000
    assert idle_watermark(started(), 5_000, NOW) == NOW
    assert idle_watermark(started(), 5_000, None) is None


def test_an_idle_partition_does_not_go_back_to_where_the_others_are() -> None:
    assert idle_watermark(started(NOW), 5_000, NOW - 100_000) is None


def test_an_idle_step_that_closes_no_pane_is_not_committed() -> None:
    """A silent collection would commit at every flush, for ever."""
    assert idle_watermark(started(NOW + 2_000), 5_000, NOW + 11_999) is None
    assert idle_watermark(started(NOW + 2_000), 5_000, NOW + 12_000) == NOW + 12_000


def silent_advances(state: SourcePartition, *, seconds: int) -> list[int]:
    """Let seconds of silence pass, and return the watermarks that are written, in seconds after NOW."""
    found = (idle_watermark(state, 1_000, None) for _ in range(seconds))
    return [(time_ms - NOW) // 1_000 for time_ms in found if time_ms is not None]


def test_nothing_is_written_of_windows_of_which_nobody_hears() -> None:
    """The window of NOW and the next one are said to close; later ones when somebody reports again."""
    state = started(NOW)
    assert silent_advances(state, seconds=1_300) == [2, 12, 22, 622, 1_222]
    state.count([1], [NOW + 1_300_000], [batch(NOW + 1_300_000, batch_id=1)])
    assert silent_advances(state, seconds=40) == [1_300, 1_302, 1_312, 1_322]


def test_a_silent_partition_follows_others_whatever_it_has_said() -> None:
    state = started(NOW)
    silent_advances(state, seconds=100)
    assert idle_watermark(state, 1_000, NOW + 90_000) == NOW + 90_000


def test_the_last_sliding_window_and_the_next_one_are_closed_by_time() -> None:
    sliding = JointCollection.parse(TEXT.replace("size: 10s", "size: 30s, hop: 10s"))
    state = started(NOW, collection=sliding)
    assert silent_advances(state, seconds=300) == [2, 12, 22, 32, 42]


def test_a_silent_partition_of_a_region_closes_each_pane_for_those_that_wait_for_it() -> None:
    state = SourcePartition(SURVEY, LAYOUT, partition=0, region="eu")
    state.count([0], [NOW], [batch(NOW)])
    state.take_changes()
    assert silent_advances(state, seconds=117) == [0, *range(2, 117, 10)]


@pytest.mark.parametrize("silent_ms", [0.0, 4_000.0, 14_999.0])
def test_a_partition_rests_until_time_closes_its_next_pane(silent_ms: float) -> None:
    """As the last windows: that of NOW + 2 s closes after 15 s of silence, the next one 10 s later."""
    state = started(NOW + 2_000)
    state.observe_silence(silent_ms)
    assert state.rests_ms == 15_000 - silent_ms
    assert idle_watermark(state, state.rests_ms - 1, None) is None
    assert idle_watermark(state, 1, None) == NOW + 12_000
    assert state.rests_ms == 10_000


def test_a_partition_rests_for_ever_before_its_first_report_and_never_before_it_has_claimed() -> None:
    assert started().rests_ms == math.inf
    assert SourcePartition(SURVEY, LAYOUT, partition=0).rests_ms == 0
    behind = Checkpoint(generation=1, offset=0, position=3, watermark_ms=NOW, watermark_generation=1)
    state = SourcePartition(SURVEY, LAYOUT, partition=0, checkpoint=behind)
    state.take_changes()
    assert state.replaying
    assert state.rests_ms == 0


def test_closed_panes_are_forgotten() -> None:
    state = started(NOW, NOW + 100_000)
    assert state.open_panes == 1
    changes = SourcePartition(SURVEY, LAYOUT, partition=0).take_changes()
    assert changes is not None
    assert changes.checkpoint.offset == 0


def test_a_pane_refuses_batches_beyond_its_limit() -> None:
    state = SourcePartition(SURVEY, LAYOUT, partition=0, max_batches=3)
    records = [batch(NOW, batch_id=each) for each in (0, 1, 0, 2, 3, 3, 1)]
    counted = state.count(range(7), [NOW] * 7, records)
    assert (counted.reports, counted.duplicates) == (3, 2)
    assert [(index, why.reason) for index, why in counted.rejected] == [
        (4, Reason.TOO_MANY_BATCHES),
        (5, Reason.TOO_MANY_BATCHES),
    ]
    assert (
        "has 3 batches of this partition already, as many as max_batches allowed at this offset"
        in counted.rejected[0][1].detail
    )
    # The next pane has room again.
    assert state.count([7], [NOW + 10_000], [batch(NOW + 10_000, batch_id=9)]).reports == 1


@given(ids=st.lists(st.integers(0, 6), max_size=20), most=st.integers(1, 5), cuts=st.lists(st.integers(0, 20)))
def test_which_batches_a_full_pane_refuses_does_not_depend_on_how_they_are_fetched(
    ids: list[int], most: int, cuts: list[int]
) -> None:
    def refused(places: list[int]) -> list[int]:
        state = SourcePartition(SURVEY, LAYOUT, partition=0, max_batches=most)
        found = []
        for begin, end in pairwise([0, *places, len(ids)]):
            if begin < end:
                records = [batch(NOW, batch_id=each) for each in ids[begin:end]]
                counted = state.count(range(begin, end), [NOW] * (end - begin), records)
                found += [begin + index for index, _ in counted.rejected]
        return found

    assert refused(sorted(each for each in cuts if each < len(ids))) == refused([])


LINKED = JointCollection.model_validate(
    SURVEY.document | {"linked": "1h", "mechanism": {"kind": "rr-ldp", "f": 0.25, "p": 0.25, "q": 0.75}}
)


def linked_batch(batch_id: int, *, reports: int) -> bytes:
    rows = np.zeros((reports, -(-LINKED.bits // 8)), dtype=np.uint8)
    return wire.encode(
        wire.Batch(fingerprint=LINKED.fingerprint, batch_id=batch_id.to_bytes(16, "big"), time_ms=NOW, rows=rows)
    )


def test_a_pane_takes_as_many_linked_reports_as_it_may_and_refuses_batches_with_more() -> None:
    state = SourcePartition(LINKED, JointLayout(LINKED), partition=0, max_linked=5)
    records = [linked_batch(each, reports=reports) for each, reports in enumerate((3, 3, 2, 1))]
    counted = state.count(range(4), [NOW] * 4, records)
    assert counted.reports == 5
    refused = [(index, why.reason) for index, why in counted.rejected]
    assert refused == [(index, Reason.TOO_MANY_LINKED) for index in (1, 3)]
    assert (
        "more than 5 linked reports of this partition, as many as max_linked allowed at this offset"
        in counted.rejected[0][1].detail
    )
    # A batch that was refused is not a copy of itself when it is sent again, as one that was counted is.
    again = state.count([4, 5], [NOW] * 2, [records[1], records[0]])
    assert (again.duplicates, [index for index, _ in again.rejected]) == (3, [0])


@given(
    batches=st.lists(st.tuples(st.integers(0, 6), st.integers(1, 4)), max_size=10),
    most=st.integers(1, 6),
    cuts=st.lists(st.integers(0, 9)),
)
def test_which_linked_reports_a_full_pane_refuses_does_not_depend_on_how_they_are_fetched(
    batches: list[tuple[int, int]], most: int, cuts: list[int]
) -> None:
    def refused(places: list[int]) -> list[int]:
        state = SourcePartition(LINKED, JointLayout(LINKED), partition=0, max_batches=most, max_linked=7)
        found = []
        for begin, end in pairwise([0, *places, len(batches)]):
            if begin < end:
                records = [linked_batch(each, reports=reports) for each, reports in batches[begin:end]]
                counted = state.count(range(begin, end), [NOW] * (end - begin), records)
                found += [begin + index for index, _ in counted.rejected]
        return found

    assert refused(sorted(each for each in cuts if each < len(batches))) == refused([])


def owner(checkpoint: Checkpoint | None, *, most: int, log_end: int = 0) -> SourcePartition:
    state = SourcePartition(SURVEY, LAYOUT, partition=0, max_batches=most, checkpoint=checkpoint, log_end=log_end)
    state.take_changes()  # the claim
    return state


def refused(state: SourcePartition, *offsets: int) -> list[int]:
    """Count one batch at each offset, all of one pane; return the offsets of those that are refused."""
    records = [batch(NOW, batch_id=offset) for offset in offsets]
    return [offsets[index] for index, _ in state.count(offsets, [NOW] * len(offsets), records).rejected]


def test_an_owner_with_another_limit_decides_what_comes_after_the_end_of_the_log_that_it_found() -> None:
    before = owner(None, most=4)
    assert refused(before, 0, 1, 2) == []
    assert before.take_changes() is not None
    assert refused(before, 3, 4) == [4]  # It dies before it can commit that it has written a dead letter.
    for most, dropped in ((2, [4, 5, 6]), (6, [4])):
        state = owner(before.checkpoint, most=most, log_end=5)
        assert refused(state, 0, 1, 2) == []
        assert state.take_changes() is not None
        assert refused(state, 3, 4, 5, 6) == dropped
        # Whoever reads that again decides alike, since it has been committed.
        assert state.take_changes() is not None
        again = owner(state.checkpoint, most=1, log_end=7)
        assert refused(again, 0) == refused(again, 1, 2, 3, 4, 5, 6) == []
        changes = again.take_changes()
        assert changes is not None
        assert [partial.counts.reports for partial in changes.partials] == [7 - len(dropped)]
        assert refused(again, 7) == [7]


def test_a_flood_of_far_apart_times_leaves_no_more_panes_open_than_the_collection_allows() -> None:
    state, rng = started(), np.random.default_rng(5)
    window, size = SURVEY.window, 3_000
    for flood in range(3):
        times = rng.integers(NOW - window.max_age_ms, NOW + window.ahead_ms, size=size)
        records = [batch(int(time_ms), batch_id=flood * size + i) for i, time_ms in enumerate(times)]
        state.count(range(flood * size, (flood + 1) * size), [NOW] * size, records)
        state.take_changes()
        assert state.open_panes <= (window.grace_ms + window.ahead_ms) // window.pane_ms + 2


def test_a_flood_of_far_apart_times_takes_the_memory_of_one_pane_however_many_items_there_are() -> None:
    items = ItemCollection.parse(
        "{collection: apps, mechanism: {kind: svim, epsilon: 1, k: 4}, items: {size: 100000}, window: {size: 60s}, "
        "epochs: pipelined}"
    )
    layout, window, panes = kind_of(items).layout(items), items.window, 40
    state = SourcePartition(items, layout, partition=0)
    state.take_changes()
    rows = np.zeros((1, row_width(layout.bits)), dtype=np.uint8)
    records = [
        wire.encode(
            wire.Batch(
                fingerprint=layout.fingerprint,
                batch_id=place.to_bytes(16, "little"),
                time_ms=NOW - (panes - place) * window.pane_ms,
                rows=rows,
            )
        )
        for place in range(panes)
    ]
    state.count(range(panes), [NOW] * panes, records)
    (tally,) = layout.tallies().values()
    assert tally.whole is not None
    tracemalloc.start()
    changes = state.take_changes()
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert changes is not None
    assert len(changes.records) == panes
    assert most < 5 * tally.whole.nbytes


def retired(*, end: int, checkpoint: Checkpoint | None = None) -> SourcePartition:
    """Make a partition of a collection without an idle timeout that was retired at an offset."""
    never = JointCollection.parse(TEXT.replace("idle_timeout: 5s", "idle_timeout: never"))
    state = SourcePartition(never, JointLayout(never), partition=0, end=end, checkpoint=checkpoint)
    state.take_changes()
    return state


def test_what_comes_after_the_end_of_a_retired_collection_is_refused_whatever_it_is() -> None:
    state = retired(end=2)
    records = [batch(NOW, batch_id=0), b"junk", batch(NOW, batch_id=2), b"junk"]
    counted = state.count(range(4), [NOW] * 4, records)
    assert counted.reports == 1
    assert [(index, why.reason) for index, why in counted.rejected] == [
        (1, Reason.TOO_SHORT),
        (2, Reason.RETIRED),
        (3, Reason.RETIRED),
    ]


def test_open_windows_of_a_retired_collection_close_although_reports_still_come() -> None:
    state = retired(end=1)
    state.count([0], [NOW], [batch(NOW)])
    changes = state.take_changes()
    assert changes is not None
    assert (changes.checkpoint.offset, state.open_panes) == (0, 1)
    watermarks = []
    for offset in range(1, 5):
        state.count([offset], [NOW], [batch(NOW, batch_id=offset)])
        assert state.observe_silence(100.0)
        state.advance_idle(None)
        if (changes := state.take_changes()) is not None and changes.watermark is not None:
            watermarks.append(changes.watermark.time_ms)
    # The window of 10 s that holds it ends, with its grace of 2 s, and nothing advances after that.
    assert watermarks == [NOW // 10_000 * 10_000 + 12_000]
    assert state.open_panes == 0


def test_a_watermark_that_closes_no_pane_is_written_now_and_then() -> None:
    """A rebuild begins with the newest one, and panes may be hours long; each is a record that a merge reads."""
    state = started(NOW)
    told = []
    for number in range(1, 14):
        time_ms = NOW + 1_000 * number
        state.count([number], [time_ms], [batch(time_ms, batch_id=number)])
        changes = state.take_changes()
        assert changes is not None
        assert changes.checkpoint.watermark_ms == time_ms
        told += [] if changes.watermark is None else [(changes.watermark.time_ms or 0) - NOW]
    assert NOW % 10_000 == 0, "a pane closes 2 s later, and the next one 12 s later"
    assert told == [2_000, 7_000, 12_000]


def test_no_time_closes_windows_after_the_end_of_a_retired_collection() -> None:
    """Were it served again, reports that came meanwhile would be late: they are sent again then."""
    state = SourcePartition(SURVEY, LAYOUT, partition=0, end=1)
    state.take_changes()
    state.count([0], [NOW], [batch(NOW)])
    state.take_changes()
    closed_ms = NOW // 10_000 * 10_000 + 12_000
    assert state.rests_ms == 0
    assert idle_watermark(state, 10**9, None) == closed_ms
    assert state.rests_ms == math.inf
    for _ in range(2):
        assert idle_watermark(state, 10**9, None) is None
        # The next owner has nothing to close either.
        state = SourcePartition(SURVEY, LAYOUT, partition=0, end=1, checkpoint=state.checkpoint)
        state.take_changes()
    assert idle_watermark(state, 1.0, closed_ms + 10_000) == closed_ms + 10_000, "it follows other partitions"


def test_a_retired_collection_is_counted_again_alike_after_a_crash() -> None:
    before = Checkpoint(generation=1, offset=0, position=3, watermark_ms=NOW, watermark_generation=1)
    state = retired(end=2, checkpoint=before)
    assert not state.observe_silence(1e9), "it has not read up to its end"
    counted = state.count(range(3), [NOW] * 3, [batch(NOW, batch_id=each) for each in range(3)])
    assert (counted.reports, counted.rejected) == (0, []), "an owner before has told of them"
    changes = state.take_changes()
    assert changes is not None
    assert [partial.counts.reports for partial in changes.partials] == [2]
