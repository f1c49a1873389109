"""Start the command line, and say what to install where only the client is.

A server can be stopped from its first moment on. Imports take seconds on a busy machine, and until its own
handlers are there, SIGTERM would end it with an error; as the first process of a container, which the system protects
from signals that it does not handle, it would never see it, and serve on until it is killed.
"""

import os
import signal
import sys
from types import FrameType
from typing import NoReturn

#: Commands that serve until they are stopped.
SERVING = frozenset({"worker", "gateway", "page"})


def main() -> None:
    """Run the command line."""
    if sys.argv[1:2] and sys.argv[1] in SERVING:
        _take_early_signals()
    if sys.argv[1:] == ["--version"]:
        from stream_ldp import __version__  # noqa: PLC0415

        sys.stdout.write(f"stream-ldp {__version__}\n")
        return
    try:
        from stream_ldp.cli import main as command_line  # noqa: PLC0415
    except ModuleNotFoundError as error:
        sys.exit(f"the commands need {error.name}, which is not installed\n  -> pip install 'stream-ldp[worker]'")
    command_line()


def _take_early_signals() -> None:
    """Take signals until the command takes them itself, which has begun nothing yet that would have to be ended."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _end)
    if sys.platform != "win32":  # which has no signals of a user's own
        for number in (signal.SIGUSR1, signal.SIGUSR2):
            signal.signal(number, signal.SIG_IGN)


def _end(number: int, frame: FrameType | None) -> NoReturn:  # noqa: ARG001  what Python gives a handler
    # At once: an exception could be caught by whatever is imported at this moment.
    os._exit(0)


if __name__ == "__main__":
    main()
