"""A commit of offsets keeps the checkpoint of a source partition from one release to the next."""

import re

import pytest

from stream_ldp.pipeline.pane_limits import MOST_LIMITS, PaneLimits
from stream_ldp.pipeline.saved_panes import SavedPlace
from stream_ldp.pipeline.source_checkpoint import Checkpoint, ForeignCommit
from stream_ldp.pipeline.topic_identity import TopicIdentity

NOW = 1_000_000_000


def test_a_checkpoint_is_read_back_unchanged() -> None:
    for watermark_ms in (None, NOW):
        checkpoint = Checkpoint(
            generation=3,
            offset=17,
            position=23,
            watermark_ms=watermark_ms,
            watermark_generation=2,
            limits=(PaneLimits(batches=5), PaneLimits(batches=7, linked=9, since=20)),
        )
        assert Checkpoint.parse(17, checkpoint.metadata()) == checkpoint


def test_the_metadata_of_a_commit_is_the_same_in_every_release() -> None:
    checkpoint = Checkpoint(generation=3, offset=17, position=23, watermark_ms=NOW, watermark_generation=2)
    written = '{"epoch": 3, "position": 23, "watermark_ms": 1000000000, "watermark_epoch": 2}'
    assert checkpoint.metadata() == written
    assert Checkpoint.parse(17, written) == checkpoint
    assert Checkpoint.parse(17, written.replace("{", '{"of_a_later_release": 1, ')) == checkpoint
    none_yet = Checkpoint(generation=1, offset=0, position=0, watermark_ms=None, watermark_generation=1)
    assert none_yet.metadata() == '{"epoch": 1, "position": 0, "watermark_ms": null, "watermark_epoch": 1}'


def test_the_longest_checkpoint_is_short_enough_for_a_broker() -> None:
    """The default of offset.metadata.max.bytes is 4,096."""
    largest = 2**63
    checkpoint = Checkpoint(
        generation=largest,
        offset=largest,
        position=largest,
        watermark_ms=-largest,
        watermark_generation=largest,
        topic=TopicIdentity(id="x" * 22, partitions=largest),
        appended_ms=largest,
        saved=SavedPlace(digest="x" * 32, position=largest, since_ms=largest),
        limits=(PaneLimits(batches=largest, linked=largest, since=largest),) * MOST_LIMITS,
    )
    assert len(checkpoint.metadata()) < 4_096


HUGE = f'{{"epoch": 1, "position": 5, "watermark_ms": {10**30}, "watermark_epoch": 1}}'


#: Some are no numbers, or do not ascend.
LIMITS = [
    f'{{"epoch": 1, "position": 5, "watermark_ms": 1, "watermark_epoch": 1, "limits": {limits}}}'
    for limits in ('[[0, "many", 1]]', "[[7, 1, 1], [3, 2, 2]]", "[[0, 1]]", "[[]]", "7")
]


@pytest.mark.parametrize("metadata", ["{}", "[]", "text", '{"position": 1}', "null", HUGE, *LIMITS])
def test_the_commit_of_another_program_is_refused(metadata: str) -> None:
    with pytest.raises(
        ForeignCommit, match=f"offset 17 has metadata that no worker wrote: {re.escape(repr(metadata))}"
    ):
        Checkpoint.parse(17, metadata)
