"""Errors between an application and its topics name the place, and the cure where there is one."""

import pytest

from stream_ldp.client.errors import MissingTopic, UnreadableAnswer, require_topic
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


def test_a_record_that_cannot_be_read_is_named_by_its_place() -> None:
    error = UnreadableAnswer("p.care.estimates", 0, 7, "garbage", answer="Estimate")
    assert str(error) == "topic p.care.estimates, partition 0, offset 7: not an answer (Estimate): garbage"
    assert (error.topic, error.partition, error.offset, error.answer) == ("p.care.estimates", 0, 7, "Estimate")
