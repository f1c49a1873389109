"""This module runs asynchronous work for callers that are not asynchronous."""

from __future__ import annotations

import asyncio
import contextvars
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Coroutine

__all__ = ["run_blocking"]

_Result = TypeVar("_Result")


def run_blocking(work: Coroutine[Any, Any, _Result]) -> _Result:
    """Run the work to its end, and return what it returns.

    It has an event loop and a thread of its own, so that it also runs where a loop is running already, as in a
    notebook.
    """
    context = contextvars.copy_context()
    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(lambda: context.run(asyncio.run, work)).result()
