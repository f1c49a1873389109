"""A worker that shows where each of its tasks waits when it gets SIGRTMIN, and where it failed when it ends."""

import asyncio
import logging
import signal
import sys
from typing import Any

from stream_ldp.cli import main


def show_tasks(*_: object) -> None:
    """Print the place of each task, from its outermost coroutine to what it waits for."""
    try:
        tasks = asyncio.all_tasks()
    except RuntimeError:  # Its loop does not run yet.
        return
    for task in tasks:
        places = list[str]()
        waiting: Any = task.get_coro()
        while waiting is not None:
            frame = getattr(waiting, "cr_frame", None) or getattr(waiting, "gi_frame", None)
            if frame is not None:
                places.append(f"{frame.f_code.co_filename.rsplit('/site-packages/')[-1]}:{frame.f_lineno}")
            waiting = getattr(waiting, "cr_await", None) or getattr(waiting, "gi_yieldfrom", None)
        sys.stderr.write(f"task {task.get_name()}: {' > '.join(places)}\n")


def show_cause(record: logging.LogRecord) -> bool:
    """Let a message about an exception say where it was raised."""
    causes: list[Any] = [each for each in record.args or () if isinstance(each, BaseException)]
    if causes and not record.exc_info:
        record.exc_info = type(causes[-1]), causes[-1], causes[-1].__traceback__
    return True


if __name__ == "__main__":
    signal.signal(signal.SIGRTMIN, show_tasks)
    logging.getLogger("stream_ldp.service.worker").addFilter(show_cause)
    main()
