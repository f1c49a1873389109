"""Defer imports until they are needed, so that a program loads no more than it runs."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
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


def names_of_stub(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the `__getattr__` and `__dir__` (PEP 562) of a package that imports each name at its first use.

    Its stub, which type checkers read, is their only list: a line `from module import Name as Name` for each.

    package, file: its `__name__` and `__file__`.
    """

    @cache
    def places() -> dict[str, str]:
        lines = Path(file).with_suffix(".pyi").read_text(encoding="utf-8").splitlines()
        found = (re.fullmatch(r"from (\S+) import (\w+) as \2", line) for line in lines)
        return {each[2]: each[1] for each in found if each}

    def get(name: str) -> Any:
        # Other names are asked for as well, such as those of modules.
        if name not in places():
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found = getattr(import_module(places()[name]), name)
        setattr(import_module(package), name, found)
        return found

    def listed() -> list[str]:
        return sorted(places())

    return get, listed
