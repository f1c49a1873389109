"""What is imported when it is needed, so that a command loads no more than it runs."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

__all__ = ["Deferred"]


@dataclass(frozen=True, slots=True)
class Deferred:
    """A function, or something else of a module, that is imported when it is called or asked for.

    place: where it is, as `module:name`.
    """

    place: str

    def imported(self) -> Any:
        """What is there."""
        module, name = self.place.split(":")
        return getattr(import_module(module), name)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return self.imported()(*arguments, **named)
