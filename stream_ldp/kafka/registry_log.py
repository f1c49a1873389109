"""Follow the registry: what each name is registered as now, and which records of it cannot be read."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from collections.abc import Collection as Container
from functools import partial

from stream_ldp.kafka.log import LogReader
from stream_ldp.kafka.registry import REMOVED, TIMEOUT_SECONDS, Registration, RegistryError, require_registry
from stream_ldp.kafka.settings import Settings
from stream_ldp.printable import printable

log = logging.getLogger(__name__)


async def read_registry_log(settings: Settings) -> RegistryLog:
    """Read all of the registry, with what of it cannot be read.

    Raises:
        RegistryError: the topic does not exist, or cannot be read in time.
    """
    registry = RegistryLog(settings)
    try:
        async with asyncio.timeout(TIMEOUT_SECONDS):
            await registry.start(check=partial(require_registry, settings))
            await registry.read()
    except TimeoutError as error:
        topic = settings.topic_names.collections
        raise RegistryError(f"topic {topic} could not be read in {TIMEOUT_SECONDS:.0f} s") from error
    finally:
        await registry.stop()
    return registry


async def read_registry(settings: Settings) -> dict[str, Registration]:
    """Read every registration, by name.

    A record that is not a registration is passed over, and a warning names it: what was registered before it holds.

    Raises:
        RegistryError: the topic does not exist, or cannot be read in time.
    """
    registry = await read_registry_log(settings)
    for name, why in registry.unreadable.items():
        log.warning(
            "%s; it is passed over, and to have it replaced, run `stream-ldp topics create` with the file of "
            "collection %r",
            *(why, name),
        )
    return registry.registered


class RegistryLog:
    """The registry, read on as it grows.

    registered: the newest registration of each name that can be read.
    unreadable: why the newest record of a name is none, by the name; what was registered before it holds.
    """

    def __init__(self, settings: Settings) -> None:
        self.registered: dict[str, Registration] = {}
        self.unreadable: dict[str, str] = {}
        self._reader = LogReader(settings.topic_names.collections, settings=settings)
        # Several parts of a worker ask for its end, and a reader has one position.
        self._lock = asyncio.Lock()

    async def start(self, *, check: Callable[[Container[str]], None] | None = None) -> None:
        """Connect; see `LogReader.start`.

        Raises:
            KafkaError: the brokers cannot be used.
        """
        await self._reader.start(check=check)

    async def stop(self) -> None:
        """Disconnect; may be called without a start."""
        await self._reader.stop()

    async def read(self) -> None:
        """Read to where the log ends now: what was written before this call is known when it returns.

        Raises:
            KafkaError: the brokers cannot be asked.
        """
        async with self._lock:
            if await self._reader.position() > await self._reader.end():
                await self._reader.seek(0)  # The topic has been made again.
            async for record in self._reader.read_to_end():
                name = printable((record.key or b"").decode(errors="replace"))
                if record.value == REMOVED:  # `stream-ldp topics retire` has removed it.
                    self.unreadable.pop(name, None)
                    self.registered.pop(name, None)
                    continue
                try:
                    found = Registration.from_record(record.key, record.value)
                except ValueError as error:
                    why = f"offset {record.offset} of topic {record.topic} is not a registration: {error}"
                    self.unreadable[name] = why
                else:
                    self.unreadable.pop(name, None)
                    self.registered[found.name] = found
