"""Compare a client's collection file with the registered one, before anything is spent or sent."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from stream_ldp.client.errors import ForeignAnswers, WrongCollection
from stream_ldp.kafka.registry import Registration, RegistryError, read_registration

if TYPE_CHECKING:
    from stream_ldp.collection import Collection
    from stream_ldp.kafka.settings import Settings

log = logging.getLogger(__name__)

#: Seconds between two looks at the registry while it does not have the collection. A look takes about 0.1 s.
LOOK_SECONDS = 30.0


async def require_registered(collection: Collection, *, settings: Settings) -> None:
    """Return if the answers of its name are those of this collection, as far as the registry shows this user.

    Raises:
        ForeignAnswers: another collection is registered with its name.
        RegistryError: the registry cannot be read.
    """
    known = await read_registration(settings, collection.name)
    if known is not None and known.fingerprint != collection.fingerprint:
        raise ForeignAnswers(known.conflict(Registration.of(collection)))


class RegistrationCheck:
    """A registration check refuses to go on with a collection file whose reports no worker would count.

    The meaning of a name is permanent, so a file that is the registered one need not be compared again. A client may
    start before the collection is registered, or may lack permission to read the registry. It then goes on with a
    warning, and looks again before it spends more.
    """

    def __init__(self, collection: Collection, *, settings: Settings) -> None:
        self._collection = collection
        self._settings = settings
        self._agrees = False
        self._next_look: float | None = None

    async def check(self) -> None:
        """Return if this file is the registered one, or if none is known.

        Raises:
            WrongCollection: another one is registered.
            RegistryError: at the first look, the registry cannot be read.
        """
        now = asyncio.get_running_loop().time()
        if self._agrees or (self._next_look is not None and now < self._next_look):
            return
        first, self._next_look = self._next_look is None, now + LOOK_SECONDS
        try:
            known = await read_registration(self._settings, self._collection.name)
        except RegistryError as error:
            if first:
                raise
            log.warning("%s: the registry cannot be read: %s", self._collection.name, error)
            return
        here = Registration.of(self._collection)
        if known is None:
            if first:
                log.warning(
                    "collection %s is not registered, or this user may not read topic %s: workers will count its "
                    "reports only if they run with the same file",
                    self._collection.name,
                    self._settings.topic_names.collections,
                )
        elif known.fingerprint == here.fingerprint:
            self._agrees = True
            if known.retirement is not None:
                log.warning(
                    "collection %s is retired: its reports become dead letters, at their full cost in privacy, until "
                    "`stream-ldp topics create` has it served again",
                    self._collection.name,
                )
        else:
            raise WrongCollection(known.conflict(here))
