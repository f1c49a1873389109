"""Tests that finals are written only of the collection as it is registered."""

import pytest

from stream_ldp.kafka.producer import Record
from stream_ldp.service.registered_writer import RegisteredWriter, Superseded


class Fence:
    """A writer that nobody shuts out."""

    held = False

    async def take(self) -> None:
        self.held = True

    async def write(self, record: Record) -> int:
        return 7

    async def stop(self) -> None:
        self.held = False


async def test_a_topic_is_held_only_if_the_registry_has_the_collection_after_it_was_taken() -> None:
    fence, current, seen = Fence(), True, []

    async def is_current() -> bool:
        seen.append(fence.held)
        return current

    writer = RegisteredWriter(fence, is_current=is_current)
    assert not writer.held
    await writer.take()
    assert writer.held
    assert await writer.write(Record(topic="answers", key=b"", value=b"")) == 7
    await writer.stop()
    current = False
    with pytest.raises(Superseded):
        await writer.take()
    assert not writer.held
    assert seen == [True, True], "what was registered before the topic was taken says nothing"
