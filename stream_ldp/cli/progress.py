"""Show on a terminal how much of long work is done, and nothing elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock, Timer

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from stream_ldp.steps import Advance, watched_by

#: Nobody asks what is done of work that takes less.
PATIENCE_S = 0.5


@contextmanager
def progress_shown(*, patience_s: float = PATIENCE_S) -> Iterator[None]:
    """Show bars of the work that is done in this context on standard error, if that is a terminal.

    Each shows how much is done of how much, the time that it took, and the time that is left. It goes when it is
    done, so that what a command prints stands alone.

    patience_s: seconds after which work is long enough to be shown.
    """
    console = Console(stderr=True)
    if not console.is_terminal:
        yield
        return
    columns = (BarColumn(20), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("left:"), TimeRemainingColumn())
    bars = Progress(TextColumn("{task.description}"), *columns, console=console, transient=True)

    begun: dict[str, TaskID] = {}
    turn = Lock()

    def show() -> None:
        with turn:
            if begun:
                bars.start()

    @contextmanager
    def watch(what: str, total: int | None) -> Iterator[Advance]:
        if what in begun:
            yield lambda count: bars.advance(begun[what], count)
            return
        begun[what] = bars.add_task(what, total=total)
        later = Timer(patience_s, show)
        later.daemon = True
        later.start()
        try:
            yield lambda count: bars.advance(begun[what], count)
        finally:
            later.cancel()
            with turn:
                bars.remove_task(begun.pop(what))
                if not begun:
                    bars.stop()

    with watched_by(watch):
        yield
