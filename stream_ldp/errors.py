"""The base of all exceptions that the package raises for its users, and the two most general of them.

Each exception has a built-in base too, so that `except ValueError` works as usual. A bare ValueError means what it
does anywhere in Python: a mistake of the program that calls a function, not of its user.
"""

from typing import Any


class StreamLDPError(Exception):
    """The base of all exceptions of the package. The message says what is wrong and how to put it right."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy it as it is: a pool of processes, which pickles it, would else call `__init__` with the message."""
        return _copied, (type(self), self.args), self.__dict__


def _copied(kind: type[StreamLDPError], args: tuple[Any, ...]) -> StreamLDPError:
    return kind.__new__(kind, *args)


class ParameterError(StreamLDPError, ValueError):
    """Parameters are not possible: one is out of its range, or they contradict each other."""


class DataError(StreamLDPError, ValueError):
    """Data cannot be used: a file, a line, a record or a set of items. The message never repeats a value."""
