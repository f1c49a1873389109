"""Graphs of attributes that depend on each other, and the cliques into which they fall."""

import math
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

#: Two attributes that depend on each other, by ascending positions.
Edge = tuple[int, int]
Clique = tuple[int, ...]


class Structure(StrEnum):
    """What a graph came to."""

    INDEPENDENT = "independent"
    TREE = "tree"
    JUNCTION_TREE = "junction tree"


def mutual_information(joint: NDArray[np.float64]) -> float:
    """Compute the mutual information of two attributes, in nats, from their joint distribution."""
    product = np.outer(joint.sum(axis=1), joint.sum(axis=0))
    held = joint > 0
    return float((joint[held] * np.log(joint[held] / product[held])).sum())


def spanning_forest(weights: Mapping[Edge, float]) -> list[Edge]:
    """Return the edges of the forest of most weight (Kruskal, 1956): of all trees, the most likely (Chow, Liu, 1968).

    weights: of the edges to choose from, such as their mutual information.
    """
    component: dict[int, int] = {place: place for edge in weights for place in edge}
    taken = []
    for first, second in sorted(weights, key=lambda edge: (-weights[edge], edge)):
        one, other = component[first], component[second]
        if one != other:
            taken.append((first, second))
            component = {place: one if of == other else of for place, of in component.items()}
    return sorted(taken)


def cliques_of(sizes: Sequence[int], weights: Mapping[Edge, float], *, most_cells: int) -> list[Clique]:
    """Triangulate a graph, and return its maximal cliques, each of at most so many cells.

    As long as a clique has more cells, the edge of least weight within it is left out (Ren et al., 2018, section 5).

    sizes: number of values of each attribute.
    weights: of the edges.
    most_cells: at least the cells of every pair that has an edge; wider pairs lose theirs.

    Returns:
        Ascending positions; every attribute is in a clique.
    """
    edges = {edge for edge in weights if sizes[edge[0]] * sizes[edge[1]] <= most_cells}
    while True:
        cliques = _triangulated(len(sizes), edges)
        widest = max(cliques, key=lambda clique: math.prod(sizes[place] for place in clique))
        if len(widest) == 1 or math.prod(sizes[place] for place in widest) <= most_cells:
            return cliques
        within = [edge for edge in edges if set(edge) <= set(widest)]
        edges.remove(min(within, key=lambda edge: (weights[edge], edge)))


def _triangulated(attributes: int, edges: Iterable[Edge]) -> list[Clique]:
    """Return the maximal cliques of the graph with chords, by elimination where the fewest are missing (min-fill)."""
    neighbours: dict[int, set[int]] = {place: set() for place in range(attributes)}
    for first, second in edges:
        neighbours[first].add(second)
        neighbours[second].add(first)
    found: list[set[int]] = []
    while neighbours:
        place = min(neighbours, key=lambda each: (len(_missing(each, neighbours)), len(neighbours[each]), each))
        for first, second in _missing(place, neighbours):
            neighbours[first].add(second)
            neighbours[second].add(first)
        around = neighbours.pop(place)
        for other in around:
            neighbours[other].remove(place)
        clique = around | {place}
        # A clique within another is one that came before: what is eliminated later is in no clique of before.
        if not any(clique <= other for other in found):
            found.append(clique)
    return [tuple(sorted(clique)) for clique in found]


def _missing(place: int, neighbours: Mapping[int, set[int]]) -> list[Edge]:
    """List the edges that the neighbours of an attribute lack between them."""
    return [
        (first, second)
        for first, second in combinations(sorted(neighbours[place]), 2)
        if second not in neighbours[first]
    ]
