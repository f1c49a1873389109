"""Tests of what is said of topics that are deleted under their workers."""

import pytest

from stream_ldp.pipeline.topic_identity import TopicIdentity
from stream_ldp.service.topics_watch import TopicsWatch

FIRST, AGAIN = TopicIdentity(id="a1", partitions=4), TopicIdentity(id="b2", partitions=4)


def test_a_deleted_topic_is_reported_once_with_the_command_that_creates_it(own_log: pytest.LogCaptureFixture) -> None:
    watch = TopicsWatch(follows=["reports"], others=["answers"], flags="--brokers b:9092")
    watch.look({"reports": FIRST, "answers": FIRST})
    assert watch.problems == []
    with own_log.at_level("WARNING"):
        for _ in range(2):
            watch.look({"answers": FIRST})
        (problem,) = watch.problems
        assert problem.endswith("stream-ldp topics create COLLECTION.yaml --brokers b:9092")
        watch.look({"reports": AGAIN, "answers": FIRST})
    assert [each.getMessage() for each in own_log.records] == [problem, "all topics are there again"]
    assert watch.problems == []


def test_a_topic_whose_places_are_lost_asks_for_a_restart_when_it_is_made_again() -> None:
    watch = TopicsWatch(follows=["reports"], others=["answers"], flags="")
    watch.look({"reports": FIRST, "answers": FIRST})
    watch.look({"reports": AGAIN, "answers": AGAIN})
    assert watch.problems == ["topic answers has been deleted and made again: restart the workers"]
