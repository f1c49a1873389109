"""Running a command that produces or consumes: what can go wrong with the brokers becomes one message."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import signal
from typing import TYPE_CHECKING

from aiokafka.errors import KafkaError

from stream_ldp.cli.options import fail
from stream_ldp.client import DeliveryError, MissingTopic
from stream_ldp.kafka.connection import BrokerUnreachable
from stream_ldp.kafka.settings import SettingsError

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from stream_ldp.client import PrivacyLedger

__all__ = ["run_client", "spent_line", "until_signal"]


def run_client(work: Coroutine[None, None, None]) -> None:
    """Run it to its end, or end the command with what was wrong."""
    # It would repeat, many times a second, what the client says once.
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)
    try:
        asyncio.run(work)
    except (BrokerUnreachable, DeliveryError, MissingTopic, SettingsError) as error:
        fail(str(error))
    except KafkaError as error:
        fail(f"the brokers answered with an error: {error}")


async def until_signal(work: Coroutine[None, None, None]) -> None:
    """Run it to its end, or cancel it at the first SIGINT or SIGTERM."""
    loop, task = asyncio.get_running_loop(), asyncio.ensure_future(work)
    signals = (signal.SIGINT, signal.SIGTERM)
    for number in signals:
        loop.add_signal_handler(number, task.cancel)
    try:
        with contextlib.suppress(asyncio.CancelledError):
            await task
    finally:
        for number in signals:
            loop.remove_signal_handler(number)


def spent_line(ledger: PrivacyLedger) -> str:
    """What a user has spent, and what of it he is promised."""
    spending, budget = ledger.spending, ledger.terms.budget
    of = "" if math.isinf(budget) else f" of {budget:g}"
    # Rounded up: a promise of privacy is never rounded down.
    return f"{math.ceil(spending.epsilon * 1_000) / 1_000:.3f}{of} nats spent: {spending.assumption.promise}"
