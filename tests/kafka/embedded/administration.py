"""A client of the brokers' administration."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from aiokafka.admin import AIOKafkaAdminClient


@asynccontextmanager
async def administration(bootstrap: str) -> AsyncIterator[Any]:
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    try:
        await admin.start()
        yield admin
    finally:
        await admin.close()
