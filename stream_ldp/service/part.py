"""Make the parts of a worker, whose tasks do not end in silence."""

import asyncio
import logging
from collections.abc import Awaitable
from typing import TypeVar

from mode import Service

T = TypeVar("T")


async def aloud(work: Awaitable[T]) -> T:
    """Await some work, and return its result.

    Raises:
        RuntimeError: it was cancelled, and the present task was not: something that it awaited has been cancelled
            under it. mode and asyncio take such an end for one that somebody has asked for.
    """
    try:
        return await work
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        raise RuntimeError("something that it waited for was cancelled") from error


class Part(Service):
    """A part of a worker: a task that ends by a cancellation which nobody has asked it for fails the part."""

    #: What the Service logs of its own life is that of a library.
    logger = logging.getLogger("mode.worker")

    async def _execute_task(self, task: Awaitable[None]) -> None:
        await super()._execute_task(aloud(task))
