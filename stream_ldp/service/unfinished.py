"""What the tasks of an event loop wait for, so that a stop that hangs does not end in silence."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any


def unfinished(tasks: Iterable[asyncio.Task[Any]]) -> list[str]:
    """Describe each task that has not ended: its coroutine, and the ones that it waits for, down to the innermost.

    It may be called from another thread, since it only looks.
    """
    return sorted({" > ".join(_chain(task.get_coro())) for task in tasks if not task.done()})


def _chain(coroutine: Any) -> list[str]:
    names = []
    while (name := getattr(coroutine, "__qualname__", None)) is not None:
        names.append(name)
        coroutine = getattr(coroutine, "cr_await", None)
    return names
