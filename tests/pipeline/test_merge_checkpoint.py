"""Tests that a commit of a merge is taken for what it says, or not at all."""

import pytest

from stream_ldp.pipeline.merge_checkpoint import MergeCheckpoint
from tests.pipeline.test_merging import REMEMBERING, SURVEY

CHECKPOINT = MergeCheckpoint(answers=3, answers_end=5, partials=70, forgotten_before_ms=60_000)


def test_a_checkpoint_comes_back_from_its_commit() -> None:
    metadata = CHECKPOINT.metadata(SURVEY)
    assert MergeCheckpoint.parse(answers=3, partials=70, metadata=metadata, collection=SURVEY) == CHECKPOINT


def test_the_commit_of_another_version_of_the_collections_file_is_not_used() -> None:
    metadata = CHECKPOINT.metadata(SURVEY)
    assert REMEMBERING.fingerprint == SURVEY.fingerprint
    assert MergeCheckpoint.parse(answers=3, partials=70, metadata=metadata, collection=REMEMBERING) is None


@pytest.mark.parametrize("metadata", ["", "[]", "{}", "[" * 100_000, '{"collection": "x"}', "reset by hand"])
def test_a_commit_that_no_worker_has_made_is_not_used(metadata: str) -> None:
    assert MergeCheckpoint.parse(answers=3, partials=70, metadata=metadata, collection=SURVEY) is None
