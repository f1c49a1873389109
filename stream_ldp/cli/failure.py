"""End failed commands: with one message if the user can correct it, with a traceback if it is a bug."""

import contextlib
import errno
import logging
from collections.abc import Iterator
from typing import NoReturn

import typer

from stream_ldp.errors import ParameterError, StreamLDPError
from stream_ldp.printable import printable

#: The status of a command whose topics do not hold what an answer needs, such as reports that have expired. Nothing
#: is wrong with what was typed (2), or with what was found (1).
UNANSWERABLE = 3


log = logging.getLogger(__name__)


def fail(message: str, *, code: int = 1) -> NoReturn:
    """Print on standard error what is wrong, and end the command."""
    if any(getattr(each.formatter, "is_for_machines", False) for each in logging.getLogger().handlers):
        # A collector of logs reads no other line.
        log.critical(message)
        raise typer.Exit(code)
    # Imported here, since most commands do not fail.
    from rich.console import Console  # noqa: PLC0415

    console = Console(stderr=True, highlight=False, soft_wrap=True)
    for line in message.split("\n"):
        console.print(printable(line), style="red", markup=False)
    raise typer.Exit(code)


@contextlib.contextmanager
def explained() -> Iterator[None]:
    """End the command with the message of an exception of the package: with status 2 for parameters, otherwise 1.

    A full disk, which may be met wherever anything is written, ends it with 1 as well. Any other exception is a bug,
    whose traceback must show: as a message, a ValueError of NumPy would read as if the user's file were wrong.
    """
    try:
        yield
    except StreamLDPError as error:
        fail(str(error), code=2 if isinstance(error, ParameterError) else 1)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        fail(f"{error.filename or 'what the command prints'}: cannot be written: no space left on the device")
