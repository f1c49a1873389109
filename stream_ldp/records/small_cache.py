"""The latest results of a slow function, kept for the next call with the same arguments."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

T = TypeVar("T")


class SmallCache(Generic[T]):
    """The results that were asked for last, by what they depend on; threads may share it."""

    def __init__(self, *, most: int) -> None:
        """Begin with none.

        most: number of results that are kept.
        """
        self._most = most
        self._lock = threading.Lock()
        self._results: OrderedDict[Hashable, T] = OrderedDict()

    def of(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return the result of a key, and make it if it is not kept.

        Two threads that ask for the same at a time may both make it: none waits for what another one makes.

        key: equal where results are equal.
        make: the function, without side effects; what it raises is raised, and nothing is kept.
        """
        with self._lock:
            if key in self._results:
                self._results.move_to_end(key)
                return self._results[key]
        made = make()
        with self._lock:
            self._results[key] = made
            while len(self._results) > self._most:
                self._results.popitem(last=False)
        return made
