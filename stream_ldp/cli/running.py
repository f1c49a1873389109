"""Run the work of commands that connect to brokers."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import signal
from typing import TYPE_CHECKING

from aiokafka.errors import KafkaError

from stream_ldp.cli.failure import fail
from stream_ldp.mechanisms.privacy_loss import shown_epsilon

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from stream_ldp.ledger.ledger_file import PrivacyLedger

    LoopFactory = Callable[[], asyncio.AbstractEventLoop]


def run(work: Coroutine[None, None, None], *, loop: LoopFactory | None = None) -> None:
    """Run the work to its end, or end the command with the error that the brokers returned.

    loop: makes the event loop; None for asyncio's own.
    """
    try:
        with asyncio.Runner(loop_factory=loop) as runner:
            runner.run(work)
    except KafkaError as error:
        fail(f"the brokers returned an error: {error}")


def run_client(work: Coroutine[None, None, None], *, loop: LoopFactory | None = None) -> None:
    """Run the work of a command that produces or consumes; see `run`."""
    # aiokafka would repeat, many times a second, what the client says once.
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)
    run(work, loop=loop)


def run_operation(work: Coroutine[None, None, None]) -> None:
    """Run the work of a command that looks after topics; see `run`."""
    # aiokafka warns of every attempt that it will repeat; a final failure is raised.
    logging.getLogger("aiokafka").setLevel(logging.ERROR)
    run(work)


def quick_loop() -> LoopFactory | None:
    """Return what makes the event loop of a server: uvloop, where the extra `gateway` is installed; else None."""
    try:
        import uvloop  # noqa: PLC0415  not on every system
    except ModuleNotFoundError:
        return None
    return uvloop.new_event_loop


async def until_signal(work: Coroutine[None, None, None]) -> None:
    """Run the work to its end, or cancel it at the first SIGINT or SIGTERM."""
    loop, task = asyncio.get_running_loop(), asyncio.ensure_future(work)

    def cancel(*_: object) -> None:
        loop.call_soon_threadsafe(task.cancel)

    # A loop's own handlers do not exist on Windows.
    before = {number: signal.signal(number, cancel) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        with contextlib.suppress(asyncio.CancelledError):
            await task
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def spent_line(ledger: PrivacyLedger) -> str:
    """Say what a user has spent, and what they are promised for it."""
    spending, budget = ledger.spending, ledger.terms.budget
    of = "" if math.isinf(budget) else f" of {budget:g}"
    return f"{shown_epsilon(spending.epsilon)}{of} nats spent: {spending.promise}"
