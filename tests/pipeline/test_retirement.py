"""Tests of the end of a collection: a place on its log, which is the same for whoever reads it."""

from typing import Any

import pytest

from stream_ldp.pipeline.retirement import Retirement

RETIREMENT = Retirement(topic_id="a1", ends=(7, 0))


def test_a_log_ends_where_it_did_when_the_collection_was_retired() -> None:
    assert [RETIREMENT.end(partition, topic_id="a1") for partition in (0, 1)] == [7, 0]


def test_nothing_counts_of_a_partition_or_topic_that_was_made_later() -> None:
    assert RETIREMENT.end(2, topic_id="a1") == 0
    assert RETIREMENT.end(0, topic_id="a2") == 0


def test_it_is_read_as_it_is_written_and_anything_else_is_refused() -> None:
    assert Retirement.of_fields(RETIREMENT.fields) == RETIREMENT
    refused: tuple[dict[str, Any], ...] = (
        {},
        {"topic": "a1"},
        {"topic": "a1", "ends": [-1]},
        {"topic": "a1", "ends": [True]},
        {"ends": []},
    )
    for fields in refused:
        with pytest.raises(ValueError, match="retired nowhere"):
            Retirement.of_fields(fields)
