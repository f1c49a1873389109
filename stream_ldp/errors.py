"""What can go wrong for those who use the package: one base above every exception that it raises for them.

Each exception keeps its built-in base too, so that `except ValueError` catches what it always has. A bare ValueError
is what it is anywhere in Python: the mistake of a program that calls a function, not of its user.
"""

from __future__ import annotations

__all__ = ["DataError", "ParameterError", "StreamLDPError"]


class StreamLDPError(Exception):
    """The base of all exceptions of the package; its message says what is wrong, to those who can put it right."""


class ParameterError(StreamLDPError, ValueError):
    """Parameters that cannot be: one is out of its range, or they contradict each other."""


class DataError(StreamLDPError, ValueError):
    """Data that cannot be used: a file, a line, a record or a set of items. The message never repeats a value."""
