"""Tests of the table of what subscribers read."""

from __future__ import annotations

from stream_ldp.client.answer_source import ANSWER_SOURCES
from stream_ldp.kafka.topics import TopicNames
from stream_ldp.kinds import KINDS


def test_the_answers_of_every_kind_have_a_source_that_reads_them() -> None:
    names = TopicNames(prefix="p")
    sources = {each.topic(names, "c"): each for each in ANSWER_SOURCES}
    of_kinds = {names.answers_of("c", kind.collection.topics): kind.answer for kind in KINDS.values()}
    assert sources.keys() == of_kinds.keys()
    for topic, answer in of_kinds.items():
        assert sources[topic].read == answer.from_bytes
