"""The errors that can occur between an application and the topics it uses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream_ldp.errors import StreamLDPError
from stream_ldp.kafka.topics import absent
from stream_ldp.quantity import quantity

if TYPE_CHECKING:
    from collections.abc import Collection as Container

    from stream_ldp.kafka.settings import Settings


class DeliveryError(StreamLDPError, RuntimeError):
    """The brokers did not acknowledge some of the reports that were taken.

    reports: number of those reports.
    unsent: how many of them were never sent; the others may or may not have arrived.
    """

    def __init__(self, reports: int, topic: str, cause: str, *, unsent: int = 0) -> None:
        never = f"; {unsent} of them were never sent" if unsent else ""
        were = "was" if reports == 1 else "were"
        super().__init__(f"{quantity(reports, 'report')} to topic {topic} {were} not acknowledged: {cause}{never}")
        self.reports = reports
        self.unsent = unsent


class MissingTopic(StreamLDPError, RuntimeError):
    """A topic does not exist; the message says how to create it."""


class WrongCollection(StreamLDPError, ValueError):
    """A collection file is not the one that its name is registered with, so no worker would count its reports."""

    def __init__(self, difference: str) -> None:
        super().__init__(
            f"{difference}\n"
            "  -> nothing is sent or spent with this file: use that of the workers, or give this one a name of its "
            "own in its first line"
        )


class ForeignAnswers(StreamLDPError, ValueError):
    """The answers of a name are of another collection than the file says."""

    def __init__(self, difference: str) -> None:
        super().__init__(
            f"{difference}\n"
            "  -> the answers of this name are not read by this file: use that of the workers, or the name alone"
        )


class UnreadableAnswer(StreamLDPError, ValueError):
    """A record of a topic of answers is not an answer of its collection, or is one of a later release.

    answer: name of the class of the answers on the topic.
    """

    def __init__(self, topic: str, partition: int, offset: int, problem: str, *, answer: str) -> None:
        super().__init__(
            f"topic {topic}, partition {partition}, offset {offset}: not an answer ({answer}): {problem}"
        )
        self.topic = topic
        self.partition = partition
        self.offset = offset
        self.answer = answer


def require_topic(topic: str, existing: Container[str], settings: Settings) -> None:
    """Check that a topic exists, since aiokafka would wait without end for one that does not.

    Raises:
        MissingTopic: the topic is not among the existing ones.
    """
    if topic not in existing:
        raise MissingTopic(absent(topic, settings.flags()))
