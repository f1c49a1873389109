"""The identity of a topic: what distinguishes it from one of the same name that was there before."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class TopicIdentity:
    """A topic as the brokers describe it at some time.

    id: its id, which a topic that is deleted and made again does not keep; empty where nobody has asked.
    partitions: number of its partitions then; 0 where nobody has asked.
    """

    id: str = ""
    partitions: int = 0


#: The identity of a topic that nobody has asked the brokers about, such as one in memory.
UNASKED = TopicIdentity()
