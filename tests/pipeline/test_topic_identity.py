"""Tests of the identity of topics."""

from stream_ldp.pipeline.topic_identity import UNASKED, TopicIdentity


def test_a_topic_that_was_made_again_is_another() -> None:
    assert TopicIdentity(id="a1", partitions=4) != TopicIdentity(id="b2", partitions=4)
    assert TopicIdentity() == UNASKED
