"""Tests of what is said about tasks that do not end."""

from __future__ import annotations

import asyncio
import threading

from stream_ldp.service.unfinished import unfinished


async def inner(event: asyncio.Event) -> None:
    await event.wait()


async def outer(event: asyncio.Event) -> None:
    await inner(event)


async def test_a_task_that_hangs_is_told_with_all_that_it_waits_for_and_one_that_has_ended_is_not() -> None:
    event = asyncio.Event()
    hanging = asyncio.create_task(outer(event))
    ended = asyncio.create_task(asyncio.sleep(0))
    await ended
    found: list[str] = []
    looking = threading.Thread(target=lambda: found.extend(unfinished([hanging, ended])))
    looking.start()
    looking.join()
    assert found == ["outer > inner > Event.wait"]
    event.set()
    await hanging
