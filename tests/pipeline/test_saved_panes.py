"""Tests of open panes that are saved for the next owner of a source partition."""

from itertools import pairwise
from typing import TypeGuard

import numpy as np
from numpy.typing import NDArray

from stream_ldp.pipeline import partials
from stream_ldp.pipeline.merge_checkpoint import file_digest
from stream_ldp.pipeline.partials import MergeRecord, Partial
from stream_ldp.pipeline.restoring import RestoredPanes, Restoring
from stream_ldp.pipeline.saved_panes import Saved
from stream_ldp.pipeline.source_checkpoint import Checkpoint
from stream_ldp.pipeline.source_partition import SourcePartition
from tests.pipeline.test_source_partition import LAYOUT, NOW, SURVEY, batch

Written = list[MergeRecord | Saved]

#: Windows of ten seconds, with two of grace: those of all batches are open together.
RECORDS = [batch(NOW + 1_500 * each, batch_id=each) for each in range(8)]


def owner(checkpoint: Checkpoint | None = None, *, save_records: int | None = 3) -> SourcePartition:
    state = SourcePartition(
        SURVEY, LAYOUT, partition=0, checkpoint=checkpoint, save_records=save_records, id_key=b"drawn"
    )
    state.take_changes()  # the claim
    return state


def count(state: SourcePartition, *, end: int) -> int:
    begin = state.position
    if begin == end:
        return 0
    return state.count(range(begin, end), [NOW + 20_000] * (end - begin), RECORDS[begin:end]).reports


def flush(state: SourcePartition) -> Written:
    changes = state.take_changes()
    assert changes is not None
    written: list[Partial | Saved] = [*changes.partials, *changes.saved]
    return [partials.decode(partials.encode(each, writer="w")[1]) for each in written]


def lived(*flushes: int) -> tuple[Checkpoint, Written]:
    """Count up to each of these offsets, and flush."""
    state, log = owner(), Written()
    for end in flushes:
        count(state, end=end)
        log += flush(state)
    return state.checkpoint, log


def is_list(record: MergeRecord | Saved) -> TypeGuard[Saved]:
    return isinstance(record, Saved) and record.sort == "panes"


def saved_hashes(log: Written) -> list[NDArray[np.uint64]]:
    return [each.hashes() for each in log if isinstance(each, Saved) and each.sort == "hashes"]


def restored(checkpoint: Checkpoint, log: Written, *, file: str | None = None) -> RestoredPanes | None:
    assert checkpoint.saved is not None
    restoring = Restoring(
        {0: checkpoint.saved}, fingerprint=SURVEY.fingerprint.hex(), file=file or file_digest(SURVEY)
    )
    for record in log:
        restoring.take(record)
    return restoring.panes(0)


def test_each_hash_is_saved_once_by_one_owner_after_the_other() -> None:
    checkpoint, log = lived(3, 6)
    assert sum(map(len, saved_hashes(log))) == 6
    found = restored(checkpoint, log)
    assert found is not None
    state = owner(checkpoint)
    state.restore(found)
    count(state, end=8)
    log += flush(state)
    assert state.checkpoint.saved == checkpoint.saved, "two records more are not worth it"
    state._save_records = 1
    state.count([8], [NOW + 20_000], [batch(NOW, batch_id=8)])
    log += flush(state)
    assert sum(map(len, saved_hashes(log))) == 9
    again = restored(state.checkpoint, log)
    assert again is not None
    assert sum(len(pane.hashes) for pane in again.panes) == 9


def test_panes_are_not_saved_where_few_records_would_be_read_again() -> None:
    state = owner(save_records=7)
    for end, expected in pairwise([0, 3, 6, 7]):
        assert state.checkpoint.saved is None, expected
        count(state, end=expected)
        log = flush(state)
        assert any(map(is_list, log)) == (expected == 7), end
    assert state.checkpoint.saved is not None


def test_a_commit_keeps_the_place_and_a_log_that_lost_its_end_loses_it() -> None:
    checkpoint, _ = lived(3)
    assert checkpoint.saved is not None
    assert Checkpoint.parse(checkpoint.offset, checkpoint.metadata()) == checkpoint
    assert checkpoint.cut_to(2).saved is None
    assert checkpoint.saved.since_ms == NOW + 20_000
