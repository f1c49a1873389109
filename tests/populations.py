"""Collections with generated users, which every kind has in its folder's `populations.py`, for benchmarks of all.

The module has a function `settings(rng)`, which yields a few settings of the kind. Where collections of the kind can
be about the attributes of any table, it has a function `texts(attributes, estimates)` too, which yields the name and
the text of each.
"""

from collections.abc import Sequence
from importlib import import_module
from typing import Any, NamedTuple

#: Users of a table, and what every collection begins with.
ROWS, WINDOW = 40_000, "collection: c, window: {size: 60s}"


class Setting(NamedTuple):
    """A collection, its text, and the users of a table, a line each, with a head unless they are sets of items."""

    name: str
    text: str
    head: Sequence[str]
    lines: Sequence[Sequence[object]]


def populations_of(collection: type[Any]) -> Any:
    """Import the module of a kind, given the class of its collections, which is in the room of the kind."""
    return import_module(f"tests.{collection.__module__.split('.')[1]}.populations")


def attributes_of(sizes: Sequence[int]) -> tuple[list[str], str]:
    """Name attributes of so many values each, which are numbers from 0, and write them as a file has them."""
    names = [f"a{place}" for place in range(len(sizes))]
    values = [", ".join(f"'{number}'" for number in range(size)) for size in sizes]
    return (
        names,
        f"[{', '.join(f'{{name: {name}, values: [{each}]}}' for name, each in zip(names, values, strict=True))}]",
    )
