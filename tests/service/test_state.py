"""How far a collection has come, from its log and its groups."""

import pytest
from aiokafka import TopicPartition

from stream_ldp.kafka.settings import Settings
from stream_ldp.pipeline.merging import Merge
from stream_ldp.pipeline.quarantine import Unread
from stream_ldp.pipeline.source_checkpoint import Checkpoint
from stream_ldp.records.collection import JointCollection
from stream_ldp.service import state
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


def test_a_commit_that_no_worker_has_made_is_reported_and_ends_nothing() -> None:
    source = _source(TopicPartition("reports", 2), (0, 5), (3, "somebody's"))
    assert (source.checkpoint, source.behind) == (None, 5)
    assert "metadata that no worker wrote" in source.fault


async def test_a_worker_that_starts_meanwhile_and_the_windows_are_reported_of_one_moment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    collection, settings = JointCollection.parse(CARE), Settings.load(brokers="nowhere:1")
    partitions = {settings.topic_names.reports(collection.name): 1}
    reads: list[str] = []

    async def workers(*_: object) -> state._Workers:
        return state._Workers(members=min(len(reads), 1), sources=())

    async def windows(*_: object) -> tuple[Merge, list[Unread], list[Unread]]:
        reads.append("windows")
        return Merge(collection, partitions=1), [], []

    monkeypatch.setattr(state, "_read_workers", workers)
    monkeypatch.setattr(state, "read_windows", windows)
    assert (await read_state(settings, collection, partitions)).members == 1
    assert len(reads) == 2, "the windows are those of the worker that is told"


async def test_the_state_of_a_collection_is_what_its_log_says(settings: Settings) -> None:
    collection = JointCollection.parse(CARE)
    lived = await live(settings, collection, now_ms=NOW_MS)
    found = await read_state(settings, collection, lived.partitions)
    assert found.members == 0
    assert [each.behind for each in found.sources] == [BEHIND if each == PARTITION else 0 for each in range(4)]
    (final,), (window,) = found.finals, found.undecided
    assert (final.window.start_ms, window.bounds.start_ms) == (lived.start_ms, final.window.end_ms)
    assert (window.reports, window.closed) == (2, False)
    assert found.watermark_ms == final.window.end_ms + collection.window.grace_ms
    assert (found.passed, found.held) == ((), ())
