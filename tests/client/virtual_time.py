"""An event loop whose time passes only while everybody waits, and then at once."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

Result = TypeVar("Result")


class _Selector(selectors.DefaultSelector):
    """A selector that lets time pass where another would wait for it. It gets its loop after it is made."""

    loop: _Loop

    def select(self, timeout: float | None = None) -> Any:
        if timeout is None:
            raise AssertionError("everybody waits for something that will not come")
        self.loop.passed += max(timeout, 0.0)
        return super().select(0)


class _Loop(asyncio.SelectorEventLoop):
    """An event loop whose time is the total that has been waited for, from 0."""

    def __init__(self) -> None:
        selector = _Selector()
        selector.loop = self
        self.passed = 0.0
        super().__init__(selector)

    def time(self) -> float:
        return self.passed


def run_in_virtual_time(work: Coroutine[Any, Any, Result]) -> Result:
    """Run like `asyncio.run`, but sleeping takes no time. Threads cannot be waited for."""
    with asyncio.Runner(loop_factory=_Loop) as runner:
        return runner.run(work)
