"""Begin the log of a process that serves: its form, its level, and how the level changes on the way."""

import logging
import signal
import sys
from typing import Any, TextIO

from pythonjsonlogger.json import JsonFormatter

from stream_ldp.kafka.settings import LogFormat, LogLevel, Settings
from stream_ldp.printable import printable

log = logging.getLogger(__name__)

#: Libraries that print the values of messages, and repeat, many times a second, what the process says itself.
LOUD = ("aiokafka", "faust", "mode")

#: Our own lines alone are asked for by level; those of other libraries stay at this one, or at a higher one.
OTHERS = logging.INFO

_LEVELS = tuple(LogLevel)


def begin_log(settings: Settings, *, libraries: bool = False, stream: TextIO | None = None) -> None:
    """Write the log to a stream, in the form and of the level that the settings ask for.

    In JSON each line is an object with `time` (UTC), `level`, `logger` and `message`. Names and numbers of a line's
    subject are fields too. SIGUSR1 lowers the level by one step, which gives more lines, and SIGUSR2 raises it.

    libraries: whether the Kafka clients and Faust log too, which prints the values of messages.
    stream: standard error if not given.
    """
    stream = stream or sys.stderr
    handler = logging.StreamHandler(stream)
    handler.setFormatter(_formatter(settings.log_format, terminal=stream.isatty()))
    logging.basicConfig(handlers=[handler])
    _set_level(settings.log_level)
    if not libraries:
        for name in LOUD:
            logging.getLogger(name).setLevel(logging.CRITICAL)
    if sys.platform != "win32":  # which has no signals of a user's own
        signal.signal(signal.SIGUSR1, lambda *_: _move(-1))
        signal.signal(signal.SIGUSR2, lambda *_: _move(+1))


class _PlainFormatter(logging.Formatter):
    """A formatter of lines that a terminal shows and does not obey, whatever is in them."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802
        """Make one line of a message."""
        return printable(super().formatMessage(record))

    def formatException(self, ei: Any) -> str:  # noqa: N802
        """Keep the lines of a traceback."""
        return "\n".join(map(printable, super().formatException(ei).splitlines()))


class _JsonFormatter(JsonFormatter):
    """A formatter of lines of JSON; `failure.fail` finds it by its attribute."""

    is_for_machines = True


def _formatter(form: LogFormat, *, terminal: bool) -> logging.Formatter:
    if form is LogFormat.JSON or (form is LogFormat.AUTO and not terminal):
        return _JsonFormatter(
            "%(levelname)s %(name)s %(message)s",
            rename_fields={"levelname": "level", "name": "logger", "exc_info": "traceback"},
            timestamp="time",
        )
    return _PlainFormatter("%(asctime)s %(levelname)s %(name)s: %(message)s", datefmt="%Y-%m-%dT%H:%M:%S%z")


def _set_level(level: LogLevel) -> None:
    number = logging.getLevelNamesMapping()[level.name]
    logging.getLogger("stream_ldp").setLevel(number)
    logging.getLogger().setLevel(max(number, OTHERS))


def _move(steps: int) -> None:
    now = logging.getLogger("stream_ldp").level
    place = [logging.getLevelNamesMapping()[level.name] for level in _LEVELS].index(now) + steps
    level = _LEVELS[min(max(place, 0), len(_LEVELS) - 1)]
    _set_level(level)
    log.log(logging.getLogger("stream_ldp").level, "the level of the log is %s now", level)
