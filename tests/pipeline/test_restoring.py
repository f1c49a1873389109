"""Tests of open panes that are restored: whole, or not at all."""

from dataclasses import replace

import pytest

from stream_ldp.pipeline.partials import MergeRecord, Partial, PartialGroup
from stream_ldp.pipeline.saved_panes import Saved
from stream_ldp.pipeline.source_checkpoint import Checkpoint
from tests.pipeline.test_saved_panes import RECORDS, count, flush, is_list, lived, owner, restored
from tests.pipeline.test_source_partition import NOW, batch


@pytest.mark.parametrize("flushes", [(3,), (3, 4), (4, 5, 6), (1, 2, 3, 4, 5, 6, 7)])
def test_the_next_owner_arrives_at_the_same_partials_without_what_was_saved(flushes: tuple[int, ...]) -> None:
    checkpoint, log = lived(*flushes)
    found = restored(Checkpoint.parse(checkpoint.offset, checkpoint.metadata()), log)
    assert found is not None
    state, alone = owner(checkpoint), owner(save_records=None)
    state.restore(found)
    assert state.position > checkpoint.offset
    assert state.position >= checkpoint.position - 3
    assert count(state, end=checkpoint.position) == 0, "nothing is reported twice"
    for each in (state, alone):
        count(each, end=8)
    ours, theirs = ([each for each in flush(state) if isinstance(each, Partial)] for state in (state, alone))
    assert [replace(each, generation=1) for each in ours] == theirs


def test_a_copy_of_a_batch_that_was_saved_is_not_counted_again() -> None:
    checkpoint, log = lived(3, 5)
    found = restored(checkpoint, log)
    assert found is not None
    state = owner(checkpoint)
    state.restore(found)
    count(state, end=5)
    counted = state.count([5, 6], [NOW + 20_000] * 2, [RECORDS[0], RECORDS[4]])
    assert (counted.reports, counted.duplicates) == (0, 2)


def test_where_anything_of_what_was_saved_is_missing_nothing_is_restored() -> None:
    checkpoint, log = lived(3, 6)
    assert restored(checkpoint, log) is not None
    needed = [
        each for each in log if not isinstance(each, Partial) or (each.end == 6 and each.pane_ms < NOW + 10_000)
    ]
    for missing in needed:
        left = [each for each in log if each is not missing]
        # The list of before is not what the commit names, and an earlier partial lacks reports.
        if not (is_list(missing) and missing.panes().offset == 3):
            assert restored(checkpoint, left) is None, missing


def test_what_was_counted_by_another_file_is_not_restored() -> None:
    checkpoint, log = lived(3)
    assert restored(checkpoint, log, file="another") is None


def test_a_partial_beyond_the_last_commit_replaces_none_that_was_committed() -> None:
    checkpoint, log = lived(3)
    _, later = lived(3, 4)
    found, committed = restored(checkpoint, later), restored(checkpoint, log)
    assert found is not None
    assert committed is not None
    assert found.panes[0].statistics == committed.panes[0].statistics
    without = [each for each in later if not isinstance(each, Partial) or each.end == 4]
    assert restored(checkpoint, without) is None, "compaction has deleted it"


def test_panes_that_are_closed_are_not_restored_and_need_not_be_saved_any_more() -> None:
    checkpoint, log = lived(3)
    found = restored(checkpoint, log)
    assert found is not None
    closed = replace(checkpoint, watermark_ms=NOW + 1_000_000)
    state = owner(closed)
    state.restore(found)
    assert state.open_panes == 0
    state = owner(checkpoint)
    state.restore(found)
    state.count([3], [NOW + 500_000], [batch(NOW + 500_000, batch_id=3)])
    flush(state)
    assert state.checkpoint.saved is None


def test_panes_of_another_layout_are_refused_whole() -> None:
    checkpoint, log = lived(3)
    found = restored(checkpoint, log)
    assert found is not None
    pane = found.panes[0]
    strange = {(b"?" * 16, of): each for (_, of), each in pane.statistics.items()}
    state = owner(checkpoint)
    with pytest.raises(KeyError):
        state.restore(replace(found, panes=(replace(pane, statistics=strange),)))
    assert (state.position, state.open_panes) == (checkpoint.offset, 0)


def test_what_workers_of_another_region_have_saved_is_not_restored() -> None:
    checkpoint, log = lived(3)
    elsewhere: list[MergeRecord | Saved] = [
        replace(each, region="us") for each in log if not isinstance(each, PartialGroup)
    ]
    assert len(elsewhere) == len(log)
    assert restored(checkpoint, elsewhere) is None
