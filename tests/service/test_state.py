"""How far a collection has come, from its log and its groups."""

from __future__ import annotations

import pytest
from aiokafka import TopicPartition

from stream_ldp.kafka.settings import Settings
from stream_ldp.pipeline.source_checkpoint import Checkpoint
from stream_ldp.records.collection import JointCollection
from stream_ldp.service.state import SourceState, _source, read_state
from tests.service.lived import BEHIND, PARTITION, live
from tests.service.test_preflight import CARE

NOW_MS = 1_795_379_390_000


@pytest.mark.parametrize(("position", "behind"), [(None, 6), (2, 6), (7, 3), (12, 0)])
def test_what_is_behind_is_what_the_log_still_has_and_nobody_has_counted(position: int | None, behind: int) -> None:
    kept = position and Checkpoint(
        generation=1, offset=0, position=position, watermark_ms=None, watermark_generation=0
    )
    assert SourceState(number=0, begin=4, end=10, checkpoint=kept or None).behind == behind


def test_a_commit_that_no_worker_has_made_is_told_and_ends_nothing() -> None:
    source = _source(TopicPartition("reports", 2), (0, 5), (3, "somebody's"))
    assert (source.checkpoint, source.behind) == (None, 5)
    assert "metadata that no worker wrote" in source.fault


async def test_the_state_of_a_collection_is_what_its_log_says(settings: Settings) -> None:
    collection = JointCollection.parse(CARE)
    lived = await live(settings, collection, now_ms=NOW_MS)
    state = await read_state(settings, collection, lived.partitions)
    assert state.members == 0
    assert [each.behind for each in state.sources] == [BEHIND if each == PARTITION else 0 for each in range(4)]
    (final,), (window,) = state.finals, state.undecided
    assert (final.window.start_ms, window.bounds.start_ms) == (lived.start_ms, final.window.end_ms)
    assert (window.reports, window.closed) == (2, False)
    assert state.watermark_ms == final.window.end_ms + collection.window.grace_ms
    assert (state.passed, state.held) == ((), ())
