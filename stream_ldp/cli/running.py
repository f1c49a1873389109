"""Run the work of commands that connect to brokers."""

from __future__ import annotations

import asyncio
import logging
import math
import re
import signal
import time
from typing import TYPE_CHECKING

from aiokafka.errors import KafkaError

from stream_ldp.cli.failure import fail
from stream_ldp.mechanisms.privacy_loss import shown_epsilon

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from stream_ldp.ledger.ledger_file import PrivacyLedger

    LoopFactory = Callable[[], asyncio.AbstractEventLoop]

log = logging.getLogger(__name__)

#: Seconds that an outage lasts until it is said, and until it is said again.
OUTAGE_SECONDS, AGAIN_SECONDS = 3.0, 60.0


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
    """Run the work of a command that is a client of the brokers; see `run`."""
    lines, outage = logging.getLogger("aiokafka"), _OutageLine()
    lines.setLevel(logging.ERROR)
    lines.addHandler(outage)
    lines.propagate = False
    try:
        run(work, loop=loop)
    finally:
        lines.setLevel(logging.CRITICAL)
        lines.removeHandler(outage)
        lines.propagate = True


class _OutageLine(logging.Handler):
    """A handler that has one line for an outage, once a minute: aiokafka writes dozens a second, and tries again.

    A failure that does not last is not worth a line, and one that ends the command is raised.
    """

    def __init__(self) -> None:
        super().__init__()
        self._failed_at = self._due_at = -math.inf

    def emit(self, record: logging.LogRecord) -> None:
        failed = [each for each in record.args or () if isinstance(each, OSError)]
        if not failed:
            return
        now = time.monotonic()
        if now > self._failed_at + OUTAGE_SECONDS:
            self._due_at = now + OUTAGE_SECONDS
        self._failed_at = now
        if now >= self._due_at:
            self._due_at = now + AGAIN_SECONDS
            # As asyncio has it: Connect call failed ('127.0.0.1', 9092).
            place = re.search(r"\('([^']+)', (\d+)", str(failed[0]))
            log.warning("cannot reach %s; trying again", "the brokers" if place is None else ":".join(place.groups()))


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
        await task
    except asyncio.CancelledError:
        if not task.cancelling():
            raise  # by no signal: something that it awaited was cancelled
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def spent_line(ledger: PrivacyLedger) -> str:
    """Say what a user has spent, and what they are promised for it."""
    spending, budget = ledger.spending, ledger.terms.budget
    of = "" if math.isinf(budget) else f" of {budget:g}"
    return f"{shown_epsilon(spending.epsilon)}{of} nats spent: {spending.promise}"
