"""Defer imports until they are needed, so that a program loads no more than it runs."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any


@dataclass(frozen=True, slots=True)
class Deferred:
    """A function, or another object of a module, that is imported when it is first called or asked for.

    place: where it is, as `module:name`.
    """

    place: str

    def imported(self) -> Any:
        """Import the module and return the object."""
        module, name = self.place.split(":")
        return getattr(import_module(module), name)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return self.imported()(*arguments, **named)


def imported(found: Any) -> Any:
    """Return an object, imported first if it is deferred."""
    return found.imported() if isinstance(found, Deferred) else found


def deferred(place: str) -> Any:
    """Return a `Deferred` for a field of any type, whose reader imports the object, such as those of a `Kind`."""
    return Deferred(place)
