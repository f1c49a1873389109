"""What every broker of this package does: it starts, has an address, and stops, or says why it cannot."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Self

from stream_ldp.errors import StreamLDPError
from stream_ldp.kafka.cluster import Cluster
from stream_ldp.kafka.settings import Settings
from stream_ldp.kafka.topics import TopicSpec


class EmbeddedBrokerError(StreamLDPError, RuntimeError):
    """The embedded broker could not be fetched or started; the message holds the end of its output."""


class MissingTool(EmbeddedBrokerError):
    """This machine lacks a program that the embedded broker needs; the message says which, and what would help."""


class EmbeddedBroker(ABC):
    """A broker in a child process, as a context manager: it runs within the block.

    has_transactions: whether clients can write in transactions.
    """

    has_transactions: ClassVar[bool] = True

    @property
    @abstractmethod
    def bootstrap(self) -> str:
        """Address for clients, host:port."""

    @abstractmethod
    def start(self) -> None:
        """Start the child process, and wait until clients can use the broker."""

    @abstractmethod
    def stop(self) -> None:
        """End the child process."""

    async def create_topics(self, specs: Sequence[TopicSpec], *, settings: Settings) -> None:
        """Create topics, one replica each."""
        async with Cluster.connect(settings) as cluster:
            await cluster.create(specs, replication=1)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
