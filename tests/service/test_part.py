"""Tests that a part of a worker fails, and does not end in silence, when what it awaits is cancelled under it."""

import asyncio

import pytest

from stream_ldp.service.part import Part, aloud


class Waiting(Part):
    """A part that waits for something of others."""

    def __init__(self) -> None:
        super().__init__()
        self.awaited: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    @Part.task
    async def _wait(self) -> None:
        await self.awaited


async def test_a_part_whose_task_is_cancelled_by_what_it_awaits_fails() -> None:
    part = Waiting()
    await part.start()
    await asyncio.sleep(0)
    part.awaited.cancel()
    async with asyncio.timeout(5):
        await part.wait_until_stopped()
    assert str(part.crash_reason) == "something that it waited for was cancelled"


async def test_a_part_that_is_stopped_has_not_failed() -> None:
    part = Waiting()
    await part.start()
    await asyncio.sleep(0)
    await part.stop()
    assert not part.crashed


async def test_a_task_that_is_cancelled_itself_ends_as_it_is_asked_to() -> None:
    task = asyncio.ensure_future(aloud(asyncio.Event().wait()))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
