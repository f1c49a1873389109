"""Decide which failures pass, and ask again while they last, for as long as an outage may."""

import asyncio
import time
import traceback
from collections.abc import Awaitable, Callable
from typing import TypeVar

from aiokafka.errors import (
    ClusterAuthorizationFailedError,
    CorrelationIdError,
    CorruptRecordException,
    GroupAuthorizationFailedError,
    KafkaError,
    KafkaTimeoutError,
    SaslAuthenticationFailed,
    TopicAuthorizationFailedError,
    TransactionalIdAuthorizationFailed,
)

from stream_ldp.kafka.connection import AccessRefused, BrokerUnreachable

T = TypeVar("T")

#: Seconds between two tries.
RETRY_SECONDS = 1.0

#: Note of an error for whose end was waited as long as an outage may last, so that nothing else waits again.
WAITED = "it lasted as long as an outage may"

#: What aiokafka does not call retriable: its own timeouts, and what bytes that are damaged on their way lead to.
_PASSING = (KafkaTimeoutError, CorruptRecordException, CorrelationIdError)

#: Refusals, which last until an operator allows what is refused.
_REFUSALS = (
    ClusterAuthorizationFailedError,
    GroupAuthorizationFailedError,
    SaslAuthenticationFailed,
    TopicAuthorizationFailedError,
    TransactionalIdAuthorizationFailed,
)


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
            if not passes(error):
                raise
            if clock() >= began + seconds:
                error.add_note(WAITED)
                raise
            waiting(error)
        await asyncio.sleep(RETRY_SECONDS)


def passes(error: BaseException) -> bool:
    """Decide whether a failure may pass when the brokers are back, or the network is sound again."""
    if isinstance(error, KafkaError):
        # aiokafka wraps some errors in ones of no class of their own.
        wrapped = error.__cause__ is not None and passes(error.__cause__)
        return bool(error.retriable) or isinstance(error, _PASSING) or wrapped
    return isinstance(error, BrokerUnreachable) and not isinstance(error, AccessRefused)


def is_of_the_environment(error: BaseException | None) -> bool:
    """Decide whether a failure is one of brokers or networks, and no refusal, whatever a library has wrapped it in.

    It need not pass by itself: a client may have come to its end by it, and have to be made anew. A damaged response
    leads to errors of any class in the code that reads it. One that has lasted as long as an outage may is none.

    error: what ended a part; TimeoutError if it has waited for that long itself.
    """
    if isinstance(error, TimeoutError):
        return False
    causes = []
    while error is not None:
        causes.append(error)
        error = error.__cause__
    if any(WAITED in getattr(cause, "__notes__", ()) or isinstance(cause, _REFUSALS) for cause in causes):
        return False
    return any(isinstance(each, KafkaError | BrokerUnreachable) or _is_out_of_aiokafka(each) for each in causes)


def _is_out_of_aiokafka(error: BaseException) -> bool:
    frames = (frame for frame, _ in traceback.walk_tb(error.__traceback__))
    return any(str(frame.f_globals.get("__name__")).startswith("aiokafka.") for frame in frames)
