"""The base of every client that sends reports: noise, a clock, an outbox, and a connection."""

from __future__ import annotations

import logging
import time
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any, Self

from stream_ldp.client.outbox import Outbox
from stream_ldp.client.registration import RegistrationCheck
from stream_ldp.collection import Collection
from stream_ldp.mechanisms import OSEntropy

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractAsyncContextManager
    from types import TracebackType

    from stream_ldp.kafka.settings import Settings
    from stream_ldp.mechanisms import Entropy

log = logging.getLogger(__name__)


def now_ms() -> int:
    """Return the time of day, in milliseconds since 1970-01-01 UTC."""
    return time.time_ns() // 1_000_000


def require_collection(collection: object, *, client: object) -> Collection:
    """Return the collection that a client reports to.

    Raises:
        TypeError: it is none, such as the path of one.
    """
    if isinstance(collection, Collection):
        return collection
    # Not what was given, which may be a record.
    raise TypeError(
        f"{type(client).__name__}: give a collection, as load_collection reads it from a file, not a "
        f"{type(collection).__name__}"
    )


class Sender:
    """A sender sends reports to one collection, inside an `async with` block."""

    def __init__(
        self,
        collection: Collection,
        *,
        settings: Settings,
        entropy: Entropy | None,
        clock: Callable[[], int],
        max_in_flight: int,
        delivery_timeout: float,
        also: Sequence[AbstractAsyncContextManager[Any]] = (),
    ) -> None:
        """Prepare for one collection.

        also: other connections to open and close with the block.
        """
        self._entropy = entropy or OSEntropy()
        self._uncounted = entropy is None
        self._clock = clock
        self._outbox = Outbox(
            settings.topic_names.reports(collection.name),
            settings=settings,
            max_in_flight=max_in_flight,
            delivery_timeout=delivery_timeout,
        )
        self._registration = RegistrationCheck(collection, settings=settings)
        self._also: Sequence[AbstractAsyncContextManager[Any]] = also
        self._connections = AsyncExitStack()

    def _warn_untracked(self) -> None:
        """Warn once that nobody tracks the budgets of these users, unless they are simulated."""
        if self._uncounted:
            self._uncounted = False
            log.warning(
                "privacy budgets are not tracked, since no ledgers were given, so a user may report again and again: "
                "give `ledgers`, or track budgets where the users are"
            )

    @property
    def acknowledged(self) -> int:
        """Number of reports that the brokers have acknowledged."""
        return self._outbox.acknowledged

    async def __aenter__(self) -> Self:
        """Connect, and compare the collection with the registered one.

        Raises:
            BrokerUnreachable, SettingsError, KafkaError: the brokers cannot be used.
            MissingTopic: a topic of the collection does not exist.
            WrongCollection: the collection is not the one that is registered.
            RegistryError: the registry cannot be read.
        """
        async with AsyncExitStack() as opened:
            for each in (self._outbox, *self._also):
                await opened.enter_async_context(each)
            await self._registration.check()
            self._connections = opened.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Disconnect."""
        await self._connections.aclose()
