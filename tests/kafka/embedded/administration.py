"""This module has a client of the brokers' administration."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from aiokafka.admin import AIOKafkaAdminClient

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


@asynccontextmanager
async def administration(bootstrap: str) -> AsyncIterator[Any]:
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    try:
        await admin.start()
        yield admin
    finally:
        await admin.close()
