"""Tests of how events reach the readers of the page."""

import pytest

from stream_ldp.page.broadcast import Broadcast, TooSlow


async def test_every_reader_gets_the_events_that_come_while_it_listens_in_order() -> None:
    broadcast = Broadcast()
    broadcast.send(b"before")
    with broadcast.reader() as first, broadcast.reader() as second:
        for event in (b"a", b"b"):
            broadcast.send(event)
        broadcast.end()
        # What waits when the server stops is of no use any more.
        assert [event async for event in first.events(pause=60)] == []
    with broadcast.reader() as third:
        events = third.events(pause=60)
        for event in (b"c", b"d"):
            broadcast.send(event)
        assert [await anext(events), await anext(events)] == [b"c", b"d"]
    del second
    assert broadcast.readers == 0


async def test_silence_is_broken_by_a_sign_of_life() -> None:
    broadcast = Broadcast()
    with broadcast.reader() as reader:
        events = reader.events(pause=0.001)
        assert await anext(events) is None
        broadcast.send(b"a")
        assert await anext(events) == b"a"


async def test_a_reader_that_does_not_keep_up_is_reported_and_holds_no_memory_up() -> None:
    broadcast = Broadcast(waiting=3)
    with broadcast.reader() as reader:
        for event in range(1_000):
            broadcast.send(bytes(event))
        assert len(reader._events) == 3
        with pytest.raises(TooSlow):
            await anext(reader.events(pause=60))
