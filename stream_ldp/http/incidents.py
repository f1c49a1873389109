"""Count and log what goes wrong at a port, without a word of who asked, or for what."""

import logging
import traceback
from collections import Counter
from collections.abc import Callable
from enum import StrEnum

from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.web import RequestPayloadError

log = logging.getLogger(__name__)


class Incident(StrEnum):
    """What goes wrong at a port, beside requests that are refused."""

    #: There are as many connections as there may be, in all or of the client.
    TOO_MANY_CONNECTIONS = "too_many_connections"
    #: A request is no HTTP.
    MALFORMED = "malformed"
    #: A client does not read its answer.
    UNREAD = "unread"
    #: An answer ends in an error of the server itself.
    FAILED = "failed"


class IncidentLog(logging.Logger):
    """The logger for aiohttp, whose own lines have addresses, and the lines of requests, tokens among them.

    Of an error in a handler it logs the type and the place, the 1st, 2nd, 4th, 8th time and so on; never its message,
    which may repeat what was sent. A client that goes away is no incident.
    """

    def __init__(self, count: Callable[[Incident], None]) -> None:
        """Prepare.

        count: called for each incident.
        """
        super().__init__(__name__, logging.DEBUG)
        self._count = count
        self._failures: Counter[str] = Counter()

    def handle(self, record: logging.LogRecord) -> None:
        """Take one of aiohttp's lines."""
        error = record.exc_info[1] if record.exc_info else None
        match error:
            case ConnectionError() | RequestPayloadError():
                pass
            case HttpProcessingError():
                self._count(Incident.MALFORMED)
            case _:
                self._count(Incident.FAILED)
                place = str(record.msg) if error is None else _place(error)
                self._failures[place] += 1
                times = self._failures[place]
                if times & (times - 1) == 0:
                    log.error("a request ended in an error of this server, %d so far: %s", times, place)


def _place(error: BaseException) -> str:
    """Return the type of an error, and where in this package it comes from, or else where at all."""
    places = [(str(frame.f_globals.get("__name__")), line) for frame, line in traceback.walk_tb(error.__traceback__)]
    own = [place for place in places if place[0].startswith("stream_ldp.")]
    module, line = (own or places or [("?", 0)])[-1]
    return f"{type(error).__name__} in {module}, line {line}"
