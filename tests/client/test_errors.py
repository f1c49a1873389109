"""Errors between an application and its topics name the place, and the cure where there is one."""

from __future__ import annotations

import pytest

from stream_ldp.client.errors import MissingTopic, NotAnEstimate, NotARanking, UnreadableAnswer, require_topic
from stream_ldp.kafka.settings import Settings


def test_a_topic_that_does_not_exist_is_named_with_the_command_that_creates_it() -> None:
    settings = Settings.load(brokers="nowhere:1", topic_prefix="p")
    require_topic("p.care.reports", {"p.care.reports"}, settings)
    with pytest.raises(MissingTopic) as refusal:
        require_topic("p.care.reports", {"p.care.estimates"}, settings)
    assert str(refusal.value) == (
        "topic p.care.reports does not exist, or this user may not describe it\n"
        "  -> create it: stream-ldp topics create COLLECTION.yaml --brokers nowhere:1 --topic-prefix p"
    )


@pytest.mark.parametrize(("kind", "what"), [(NotAnEstimate, "an estimate"), (NotARanking, "a ranking")])
def test_a_record_that_cannot_be_read_is_told_with_its_place(kind: type[UnreadableAnswer], what: str) -> None:
    error = kind("p.care.estimates", 0, 7, "garbage")
    assert str(error) == f"topic p.care.estimates, partition 0, offset 7: not {what}: garbage"
    assert (error.topic, error.partition, error.offset) == ("p.care.estimates", 0, 7)
