"""Running a command that produces or consumes: what can go wrong with the brokers becomes one message."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from aiokafka.errors import KafkaError

from stream_ldp.cli.options import fail
from stream_ldp.client import DeliveryError, MissingTopic
from stream_ldp.connection import BrokerUnreachable
from stream_ldp.settings import SettingsError

if TYPE_CHECKING:
    from collections.abc import Coroutine

__all__ = ["run_client"]


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
