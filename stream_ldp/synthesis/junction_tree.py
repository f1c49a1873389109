"""Junction trees: joint distributions of all attributes that are products of those of cliques."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from stream_ldp.synthesis.marginals import MarginalModel

#: Least probability of a cell beside those of the same separator: a separator that an estimate gives nothing has to
#: be followed by something, since another clique may give it a little.
_LEAST = 1e-12


@dataclass(frozen=True, kw_only=True)
class Node:
    """A clique of a junction tree.

    clique: positions of its attributes, ascending.
    separator: those that nodes before it have as well, ascending.
    """

    clique: tuple[int, ...]
    separator: tuple[int, ...]

    @property
    def added(self) -> tuple[int, ...]:
        """The attributes that no node before it has."""
        return tuple(place for place in self.clique if place not in self.separator)


@dataclass(frozen=True, kw_only=True)
class JunctionTree:
    """The cliques of a triangulated graph, in an order in which each follows one that has all of its separator."""

    nodes: tuple[Node, ...]

    @classmethod
    def of(cls, cliques: Sequence[tuple[int, ...]]) -> Self:
        """Join cliques by the spanning tree of the widest separators (Jensen and Jensen, 1994).

        cliques: maximal ones of a triangulated graph, at least one.
        """
        nodes, left = [Node(clique=cliques[0], separator=())], list(cliques[1:])
        while left:
            shared, following = max(
                (
                    (tuple(place for place in clique if place in node.clique), clique)
                    for node in nodes
                    for clique in left
                ),
                key=lambda pair: len(pair[0]),
            )
            nodes.append(Node(clique=following, separator=shared))
            left.remove(following)
        return cls(nodes=tuple(nodes))

    def records(self, marginals: MarginalModel, *, count: int, generator: np.random.Generator) -> NDArray[np.int64]:
        """Draw records with these distributions.

        Of the records with the same values of a separator, as many get each cell as its probability says, up to one
        (systematic sampling; Madow, 1949). So the records are less off than as many independent draws are.

        Returns:
            Value indices, int64, shape (count, attributes).
        """
        sizes = marginals.sizes
        found = np.empty((count, len(sizes)), dtype=np.int64)
        for node in self.nodes:
            joint = marginals.joint(node.clique) if len(node.clique) > 1 else marginals.margin(node.clique[0])
            axes = [node.clique.index(place) for place in node.separator]
            groups = math.prod(sizes[place] for place in node.separator)
            cells = np.moveaxis(joint, axes, range(len(axes))).reshape(groups, -1) + _LEAST
            group = np.zeros(count, dtype=np.int64)
            if node.separator:
                held = tuple(found[:, place] for place in node.separator)
                group = np.ravel_multi_index(held, tuple(sizes[place] for place in node.separator))
            drawn = _systematic(cells, group, generator=generator)
            values = np.unravel_index(drawn, tuple(sizes[place] for place in node.added))
            for place, value in zip(node.added, values, strict=True):
                found[:, place] = value
        return found


def _systematic(
    weights: NDArray[np.float64], group: NDArray[np.int64], *, generator: np.random.Generator
) -> NDArray[np.int64]:
    """Draw a cell for each record, as often as its weight among those of the record's group says.

    weights: above 0, float64, shape (groups, cells).
    group: the group of each record, int64, shape (n,).
    """
    ends = np.cumsum(weights / weights.sum(axis=1, keepdims=True), axis=1)
    ends[:, -1] = 1.0
    # Records of a group in random order, one group after another: each takes its place on the group's unit of length.
    order = generator.permutation(len(group))
    order = order[np.argsort(group[order], kind="stable")]
    members = np.bincount(group, minlength=len(weights))
    rank = np.arange(len(group)) - np.repeat(np.cumsum(members) - members, members)
    sorted_group = group[order]
    places = (rank + generator.random(len(weights))[sorted_group]) / members[sorted_group]
    cells = np.empty(len(group), dtype=np.int64)
    line = (ends + np.arange(len(weights))[:, None]).ravel()
    at = np.searchsorted(line, sorted_group + places, side="right")
    cells[order] = np.clip(at - sorted_group * weights.shape[1], 0, weights.shape[1] - 1)
    return cells
