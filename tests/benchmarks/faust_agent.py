"""A Faust agent that reads one topic, in an app with nothing that a reader does not need."""

import tempfile
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any


@asynccontextmanager
async def reading(brokers: str, topic: str, agent: Callable[[Any], Awaitable[None]]) -> AsyncIterator[None]:
    """Let an agent read the raw values of a topic from its beginning, as long as the block runs."""
    import faust  # noqa: PLC0415  not to be loaded by a bare consumer

    with tempfile.TemporaryDirectory() as directory:
        app = faust.App(
            f"agent-{uuid.uuid4().hex[:12]}",
            broker=f"kafka://{brokers}",
            store="memory://",
            topic_allow_declare=False,
            topic_disable_leader=True,
            web_enabled=False,
            consumer_auto_offset_reset="earliest",
            datadir=directory,
        )
        app.agent(app.topic(topic, value_serializer="raw", value_type=bytes, key_serializer="raw"))(agent)
        app.finalize()
        await app.start()
        try:
            yield
        finally:
            await app.stop()
