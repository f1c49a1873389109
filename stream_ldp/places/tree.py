"""Public trees of regions: every region holds a run of the places, which are the leaves, in order."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stream_ldp.collection.located import Misplaced

#: Most places: each is counted for every epsilon and every region that holds it.
MAX_PLACES = 2**14

#: Most characters of a name, as of all labels of a file.
_MAX_NAME = 200

_NESTED = "`places` maps regions to their own regions, or lists their places"


@dataclass(frozen=True, kw_only=True, slots=True)
class Region:
    """A region: the places from `first` to before `end`, at least two of them.

    depth: number of regions that hold it.
    """

    name: str
    first: int
    end: int
    depth: int

    @property
    def size(self) -> int:
        """Number of its places."""
        return self.end - self.first

    def __contains__(self, place: int) -> bool:
        return self.first <= place < self.end


@dataclass(frozen=True, kw_only=True, slots=True)
class PlaceTree:
    """A tree of regions.

    places: names of the leaves, in order.
    regions: the root, and then each region before the regions that it holds.
    """

    places: tuple[str, ...]
    regions: tuple[Region, ...]


def named_tree(nested: object, *, root: str) -> PlaceTree:
    """Read a tree as a file writes it: a mapping of regions to regions, and so on down to lists of places.

    root: name of the region that holds all.

    Raises:
        Misplaced: it is no such tree, a region has a single place, or a name is given twice.
    """
    places: list[str] = []
    regions: list[Region] = []
    _grow(nested, root, (), places, regions)
    return _checked(PlaceTree(places=tuple(places), regions=tuple(regions)), "places")


def even_tree(levels: Sequence[int], *, root: str) -> PlaceTree:
    """Make the tree whose regions of each level have the same number of parts, such as a quadtree.

    The parts of a region are numbered from 0, and named by the numbers on the way down: `2.0.3`.

    levels: number of parts of the root, of its parts, and so on; each at least 2.
    root: name of the region that holds all.

    Raises:
        Misplaced: there are more than `MAX_PLACES` places.
    """
    count = 1
    for parts in levels:
        count *= parts
        if count > MAX_PLACES:
            raise Misplaced(f"more than {MAX_PLACES:,} places", "levels")

    def below(name: str, first: int, size: int, depth: int) -> Iterator[Region]:
        yield Region(name=name or root, first=first, end=first + size, depth=depth)
        part = size // levels[depth]
        if part > 1:
            for number in range(levels[depth]):
                yield from below(_joined(name, number), first + number * part, part, depth + 1)

    places = tuple(".".join(map(str, way)) for way in itertools.product(*map(range, levels)))
    return _checked(PlaceTree(places=places, regions=tuple(below("", 0, count, 0))), "levels")


def _joined(name: str, number: int) -> str:
    return f"{name}.{number}" if name else str(number)


def _grow(nested: object, name: str, way: tuple[str, ...], places: list[str], regions: list[Region]) -> None:
    """Add a region and all that is below it."""
    first, place = len(places), len(regions)
    regions.append(Region(name=name, first=first, end=first, depth=len(way)))
    if isinstance(nested, Mapping):
        for below, parts in nested.items():
            _grow(parts, _label(below, *way), (*way, str(below)), places, regions)
    elif isinstance(nested, list | tuple):
        places += [_label(each, *way, number) for number, each in enumerate(nested)]
    else:
        raise Misplaced(f"region {name!r}: {_NESTED}", "places", *way)
    if len(places) - first < 2:
        raise Misplaced(
            f"region {name!r} has fewer than two places: to report the region would be to report the place",
            "places",
            *way,
        )
    regions[place] = Region(name=name, first=first, end=len(places), depth=len(way))


def _label(name: Any, *way: str | int) -> str:
    if not isinstance(name, str) or not 0 < len(name) <= _MAX_NAME or any(each < " " for each in name):
        raise Misplaced(f"a name has 1 to {_MAX_NAME} characters; {_NESTED}", "places", *way)
    return name


def _checked(tree: PlaceTree, key: str) -> PlaceTree:
    if len(tree.places) > MAX_PLACES:
        raise Misplaced(f"{len(tree.places):,} places; at most {MAX_PLACES:,}", key)
    for what, names in (("place", tree.places), ("region", [region.name for region in tree.regions])):
        seen: set[str] = set()
        for name in names:
            if name in seen:
                raise Misplaced(f"{what} {name!r} is given twice", key)
            seen.add(name)
    return tree
