"""Say how far long work has come, without handing something that shows it through every function."""

from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import TypeVar

_Item = TypeVar("_Item")

#: Says that so many more steps are done.
Advance = Callable[[int], None]
#: Shows work of a name and of so many steps, None if nobody can say, for as long as its context lasts.
Watcher = Callable[[str, int | None], AbstractContextManager[Advance]]


@contextmanager
def _unwatched(_what: str, _total: int | None) -> Iterator[Advance]:
    yield lambda _: None


_watcher: ContextVar[Watcher] = ContextVar("watcher", default=_unwatched)


@contextmanager
def watched_by(watcher: Watcher) -> Iterator[None]:
    """Have a watcher show the steps of all work that is done in this context."""
    token = _watcher.set(watcher)
    try:
        yield
    finally:
        _watcher.reset(token)


def share(what: str, total: int | None = None) -> AbstractContextManager[Advance]:
    """Begin long work, and return a context whose value is called with the number of steps that were done.

    Within another share of the same name, the steps are among those of the other one.

    what: what a step is, in words of a user, such as `reports`.
    total: number of steps; None if nobody can say.
    """
    return _watcher.get()(what, total)


def steps(items: Iterable[_Item], what: str, *, total: int | None = None) -> Iterator[_Item]:
    """Yield items one by one, each a step of long work that is done when the next one is wanted; see `share`.

    total: number of the items, where they do not have a length.
    """
    with share(what, len(items) if isinstance(items, Sized) else total) as advance:
        for item in items:
            yield item
            advance(1)


def done(count: int, what: str) -> None:
    """Say that so many more steps of the work of a name are done, which somebody else began."""
    with share(what) as advance:
        advance(count)
