"""Write the finals of a collection only as long as it is the registered one."""

from collections.abc import Awaitable, Callable

from stream_ldp.errors import StreamLDPError
from stream_ldp.kafka.fenced_producer import ExclusiveWriter
from stream_ldp.kafka.producer import Record


class Superseded(StreamLDPError, RuntimeError):
    """The collection has been registered anew: another version of it is served by now."""


class RegisteredWriter:
    """A writer that looks at the registry whenever it has taken its topic.

    A change of a collection takes its answers topic before the change is registered: see
    `stream_ldp.service.pausing`. So a worker that has been frozen meanwhile is shut out, and when it takes the topic
    again, it finds the change.

    held: see `ExclusiveWriter`.
    """

    def __init__(self, writer: ExclusiveWriter, *, is_current: Callable[[], Awaitable[bool]]) -> None:
        """Prepare.

        is_current: whether the collection is still the registered one, as the log says when it is called.
        """
        self._writer = writer
        self._is_current = is_current

    @property
    def held(self) -> bool:
        """Whether it has taken the topic, and has not heard of another that has since."""
        return self._writer.held

    async def take(self) -> None:
        """Take the topic.

        Raises:
            Superseded: the collection is not the registered one any more.
            KafkaError, TimeoutError: the brokers cannot be used.
        """
        await self._writer.take()
        if not await self._is_current():
            await self._writer.stop()
            raise Superseded("it has been registered anew")

    async def write(self, record: Record) -> int:
        """Write a record, and return its offset; see `ExclusiveWriter`."""
        return await self._writer.write(record)

    async def stop(self) -> None:
        """Disconnect."""
        await self._writer.stop()
