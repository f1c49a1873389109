"""What can go wrong between an application and the topics it uses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream_ldp.errors import StreamLDPError

if TYPE_CHECKING:
    from collections.abc import Collection as Container

    from stream_ldp.kafka.settings import Settings

__all__ = ["DeliveryError", "MissingTopic", "NotARanking", "NotAnEstimate", "UnreadableAnswer", "require_topic"]


class DeliveryError(StreamLDPError, RuntimeError):
    """Reports that the brokers did not acknowledge; they may or may not have arrived.

    reports: how many.
    """

    def __init__(self, reports: int, topic: str, cause: str) -> None:
        super().__init__(f"{reports} reports to topic {topic} were not acknowledged: {cause}")
        self.reports = reports


class MissingTopic(StreamLDPError, RuntimeError):
    """A topic that does not exist; the message says how to make it."""


class UnreadableAnswer(StreamLDPError, ValueError):
    """A record of a topic of answers that is none, or is one of a later release."""

    what = "an answer"

    def __init__(self, topic: str, partition: int, offset: int, problem: str) -> None:
        super().__init__(f"topic {topic}, partition {partition}, offset {offset}: not {self.what}: {problem}")
        self.topic = topic
        self.partition = partition
        self.offset = offset


class NotAnEstimate(UnreadableAnswer):
    """A record of an estimates topic that is not an estimate, or is one of a later release."""

    what = "an estimate"


class NotARanking(UnreadableAnswer):
    """A record of a heavy-hitters topic that is not a ranking, or is one of a later release."""

    what = "a ranking"


def require_topic(topic: str, existing: Container[str], settings: Settings) -> None:
    """Make sure of a topic before aiokafka waits for it, which it does without end.

    Raises:
        MissingTopic: it is not among the existing ones.
    """
    if topic not in existing:
        raise MissingTopic(
            f"topic {topic} does not exist, or this user may not describe it\n"
            f"  -> create it: stream-ldp topics create COLLECTION.yaml {settings.flags()}"
        )
