"""Show a progress bar on a terminal, and nothing elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

_Outcome = TypeVar("_Outcome")


def progress_bar() -> Progress:
    """Return a bar on standard error, which shows how much is done of how much, and the time that is left."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*columns, console=console, disable=not console.is_terminal)


def watched(outcomes: Iterator[_Outcome], *, total: int | None, what: str) -> Iterator[_Outcome]:
    """Yield the outcomes as they come, with a bar that shows how many there are of `total`; None if nobody knows."""
    with progress_bar() as progress:
        yield from progress.track(outcomes, total=total, description=what)
