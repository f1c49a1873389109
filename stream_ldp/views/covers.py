"""Covers: sets of views such that every two attributes are together in one of them."""

import math
from collections.abc import Sequence
from itertools import combinations

#: Most attributes of a view of a greedy cover.
_MAX_ATTRIBUTES = 8
#: Most attributes for which covers are looked for; with more, the search takes seconds, and every client makes it.
_MAX_COVERED = 40

#: Products in the field of four elements, whose sums are exclusive or.
_PRODUCTS: tuple[tuple[int, ...], ...] = ((0, 0, 0, 0), (0, 1, 2, 3), (0, 2, 3, 1), (0, 3, 1, 2))
_PRIMES = (2, 3, 5)


def greedy_cover(sizes: Sequence[int], limit: int) -> list[tuple[int, ...]]:
    """Find views of at most `limit` cells, but for pairs that have more, until each pair of attributes is in one.

    Each view begins with the largest pair that is left, and takes in the attribute that adds the most pairs for the
    growth of its cells.

    sizes: number of values of each attribute.
    """
    if len(sizes) > _MAX_COVERED:
        return []
    left = set(combinations(range(len(sizes)), 2))
    found = []
    while left:
        first, second = max(left, key=lambda pair: (sizes[pair[0]] * sizes[pair[1]], pair))
        view = [first, second]
        cells = math.prod(sizes[place] for place in view)
        while len(view) < _MAX_ATTRIBUTES:
            gains = [
                (sum((min(place, other), max(place, other)) in left for other in view), place)
                for place in range(len(sizes))
                if place not in view and cells * sizes[place] <= limit
            ]
            gains = [(gain, place) for gain, place in gains if gain]
            if not gains:
                break
            _, place = max(gains, key=lambda each: (each[0] / math.log(sizes[each[1]] + 1), -each[1]))
            view.append(place)
            cells *= sizes[place]
        view.sort()
        left -= set(combinations(view, 2))
        found.append(tuple(view))
    return found


def affine_plane(attributes: int) -> list[tuple[int, ...]]:
    """Return the lines of the smallest affine plane with so many points: each pair of them is in exactly one line.

    A plane of order q has q^2 points and q^2 + q lines of q points; where there are fewer attributes, points are left
    out. There are none for 4 attributes and fewer, whose pairs are the lines, or for more than 25.
    """
    order = next((each for each in (2, 3, 4, 5) if each**2 >= attributes), None)
    if order is None or attributes <= 4:
        return []
    elements = range(order)

    def line_at(slope: int, intercept: int, x: int) -> int:
        if order in _PRIMES:
            return (slope * x + intercept) % order
        return _PRODUCTS[slope][x] ^ intercept

    lines = [[order * x + line_at(slope, at, x) for x in elements] for slope in elements for at in elements]
    lines += [[order * x + y for y in elements] for x in elements]
    kept = [tuple(sorted(point for point in line if point < attributes)) for line in lines]
    return [line for line in kept if len(line) > 1]
