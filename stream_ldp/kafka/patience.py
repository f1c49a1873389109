"""This module asks again while no broker can be asked, for as long as an outage may last."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, TypeVar

from aiokafka.errors import KafkaError, KafkaTimeoutError

from stream_ldp.kafka.connection import AccessRefused, BrokerUnreachable

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

__all__ = ["passes", "patiently"]

T = TypeVar("T")

#: Seconds between two tries.
RETRY_SECONDS = 1.0


async def patiently(
    ask: Callable[[], Awaitable[T]],
    *,
    seconds: float,
    waiting: Callable[[Exception], None] = lambda _: None,
    clock: Callable[[], float] = time.monotonic,
) -> T:
    """Ask until there is an answer, at least once.

    seconds: time after which a failure is raised.
    waiting: called with each failure after which it asks again.
    clock: monotonic time, in seconds.

    Raises:
        KafkaError, BrokerUnreachable: it failed for so long, or for a reason that does not pass.
    """
    began = clock()
    while True:
        try:
            return await ask()
        except (KafkaError, BrokerUnreachable) as error:
            if not passes(error) or clock() >= began + seconds:
                raise
            waiting(error)
        await asyncio.sleep(RETRY_SECONDS)


def passes(error: Exception) -> bool:
    """Decide whether a failure may pass when the brokers are back."""
    if isinstance(error, KafkaError):
        # aiokafka does not call its own timeouts retriable.
        return bool(error.retriable) or isinstance(error, KafkaTimeoutError)
    return isinstance(error, BrokerUnreachable) and not isinstance(error, AccessRefused)
