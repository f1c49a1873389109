"""Contractions: the probability of every row of reports under a joint distribution, and sums over the rows by cell.

Let row i have the likelihood L_j[i, v] of value v of attribute j. Both passes of an EM step are contractions,

    z_i = sum_w P_w prod_j L_j[i, w_j],    gradient_w = sum_i (c_i / z_i) prod_j L_j[i, w_j],

and an attribute of few values has few distinct rows of L_j, its patterns. A `PatternTable` has an entry for each
combination of patterns, so its cost does not depend on the number of reports. Where most combinations never occur, a
`PrefixTree` contracts one attribute after another, once for all rows that share the patterns of the attributes so
far. Neither ever forms the product of rows and cells. Where each row supports a single one of an attribute's many
values, `NamedValues` needs no table at all.
"""

import math
from collections.abc import Sequence
from functools import reduce
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from stream_ldp.records.estimators.patterns import (
    CACHED,
    LARGEST_ARRAY,
    Feature,
    FloatArray,
    Patterns,
    counted,
    every_combination,
    gathered,
    numbered,
)

#: The first attributes are contracted for all combinations of their patterns while these are at most so many times
#: the rows: a matrix product takes less than half as long for a combination as a gather for one that occurs.
_COMBINATIONS_A_ROW = 2


class Contraction(Protocol):
    """The rows of a likelihood, arranged so that both passes over them are fast.

    counts: how often each row came, in the order and shape in which `forward` returns rows.
    """

    @property
    def counts(self) -> FloatArray: ...

    def forward(self, joint: FloatArray) -> FloatArray:
        """Compute z, the likelihood of every row at a joint distribution of shape `sizes`."""
        ...

    def backward(self, weights: FloatArray, features: Sequence[Feature | None]) -> FloatArray:
        """Sum weight times the product of one feature of each attribute over the rows, shape `sizes`.

        features: for each attribute, from the likelihoods of its values to as many numbers, row by row; None for the
            likelihoods themselves.
        """
        ...

    def select(self, attributes: Sequence[int]) -> tuple[Sequence[Patterns], FloatArray]:
        """Return the patterns of some attributes, in ascending order, and how often each row of these came."""
        ...

    def by_row(self, numbers: FloatArray) -> FloatArray:
        """Put numbers in the order and shape of `forward` in that of the rows that were arranged."""
        ...


def arrange(patterns: Sequence[Patterns], counts: FloatArray) -> Contraction:
    """Arrange rows, at least one.

    patterns: those of each attribute.
    counts: how often each row came, shape (rows,).
    """
    return PatternTable.of(patterns, counts) or NamedValues.of(patterns, counts) or PrefixTree(patterns, counts)


class PatternTable:
    """Rows counted by pattern: z = A P B', with the attributes in two halves and a row of A or B for each pattern."""

    def __init__(self, patterns: Sequence[Patterns], half: int, counts: FloatArray) -> None:
        self.counts = counts
        self._patterns, self._half = patterns, half
        self._sizes = tuple(pattern.size for pattern in patterns)
        self._A, self._B = self._factors([None] * len(patterns))
        # A product with a transposed view takes a third longer.
        self._transposed = np.ascontiguousarray(self._B.T)

    @classmethod
    def of(cls, patterns: Sequence[Patterns], counts: FloatArray) -> Self | None:
        """Count rows by pattern; return None if that is more work than row by row, or too large."""
        sizes, distinct = [pattern.size for pattern in patterns], [len(each) for each in patterns]
        half = min(range(1, len(sizes) + 1), key=lambda j: math.prod(sizes[:j]) + math.prod(sizes[j:]))
        cells = math.prod(sizes[:half]), math.prod(sizes[half:])
        rows = math.prod(distinct[:half]), math.prod(distinct[half:])
        entries = rows[0] * rows[1]
        if max(entries, rows[0] * cells[0], rows[1] * cells[1]) > LARGEST_ARRAY or entries > len(counts) * cells[0]:
            return None
        return cls(patterns, half, counted(patterns, counts).reshape(rows))

    def forward(self, joint: FloatArray) -> FloatArray:
        if self._half == len(self._sizes):  # Of a single attribute, the second half is a 1.
            return self._A @ joint.reshape(-1, 1)
        return self._A @ joint.reshape(self._A.shape[1], -1) @ self._transposed

    def backward(self, weights: FloatArray, features: Sequence[Feature | None]) -> FloatArray:
        A, B = self._factors(features) if any(features) else (self._A, self._B)
        if self._half == len(self._sizes):
            return (A.T @ weights).reshape(self._sizes)
        return (A.T @ weights @ B).reshape(self._sizes)

    def select(self, attributes: Sequence[int]) -> tuple[Sequence[Patterns], FloatArray]:
        """See `Contraction.select`: what the table says of some attributes needs no row."""
        others = tuple(j for j in range(len(self._patterns)) if j not in attributes)
        table = self.counts.reshape([len(pattern) for pattern in self._patterns])
        return every_combination([self._patterns[j] for j in attributes]), table.sum(axis=others).ravel()

    def by_row(self, numbers: FloatArray) -> FloatArray:
        return numbers.reshape(-1)[numbered(self._patterns)]

    def _factors(self, features: Sequence[Feature | None]) -> tuple[FloatArray, FloatArray]:
        tables = [each.likelihoods(feature) for each, feature in zip(self._patterns, features, strict=True)]
        first, second = tables[: self._half], tables[self._half :]
        return reduce(_all_products, first), reduce(_all_products, second) if second else np.ones((1, 1))


class NamedValues:
    """Rows of one attribute that support a single value each: no product with a row for each value is formed."""

    def __init__(self, patterns: Patterns, named: NDArray[np.intp], counts: FloatArray) -> None:
        self._patterns, self._named = patterns, named
        self.counts: FloatArray = counted([patterns], counts)

    @classmethod
    def of(cls, patterns: Sequence[Patterns], counts: FloatArray) -> Self | None:
        """Count rows by the value that they support; return None if there are other attributes or other rows."""
        if len(patterns) > 1 or patterns[0].named is None:
            return None
        return cls(patterns[0], patterns[0].named, counts)

    def forward(self, joint: FloatArray) -> FloatArray:
        zero, one = self._patterns.levels
        z: FloatArray = zero * joint.sum() + (one - zero) * joint[self._named]
        return z

    def backward(self, weights: FloatArray, features: Sequence[Feature | None]) -> FloatArray:
        (feature,), (zero, one) = features, self._patterns.levels
        if feature is None:
            of_value = np.bincount(self._named, weights=weights, minlength=self._patterns.size)
            gradient: FloatArray = zero * weights.sum() + (one - zero) * of_value
            return gradient
        step = max(1, LARGEST_ARRAY // self._patterns.size)
        sums = np.zeros(self._patterns.size)
        for begin in range(0, len(self._patterns), step):
            rows = np.arange(begin, min(begin + step, len(self._patterns)))
            sums += weights[rows] @ self._patterns.of_patterns(rows).likelihoods(feature)
        return sums

    def select(self, attributes: Sequence[int]) -> tuple[Sequence[Patterns], FloatArray]:  # noqa: ARG002
        """See `Contraction.select`: there is one attribute."""
        return every_combination([self._patterns]), self.counts

    def by_row(self, numbers: FloatArray) -> FloatArray:
        return numbers[self._patterns.codes]


class PrefixTree:
    """Rows sorted so that those which share the patterns of the first attributes share the work on them.

    A node is a combination of patterns of the first attributes, and holds a number for each cell of the others. The
    first levels, the head, have a node for every combination, and are matrix products. The levels below have nodes
    only for the combinations that occur, and are cut into blocks of bounded size. The last attribute leads from the
    nodes to the rows.
    """

    def __init__(self, patterns: Sequence[Patterns], counts: FloatArray) -> None:
        self._patterns, self._rows = patterns, counts
        # The fewer patterns come first, the more rows share a prefix.
        self._order = sorted(range(len(patterns)), key=lambda j: len(patterns[j]))
        self._sizes = tuple(patterns[j].size for j in self._order)
        ordered = [patterns[j] for j in self._order]
        depth, self._nodes = self._depth(ordered, rows=len(counts))
        self._head, below = ordered[:depth], ordered[depth:]
        node = numbered(self._head) if self._head else np.zeros(len(counts), dtype=np.intp)
        step = max(1, LARGEST_ARRAY // math.prod(self._sizes[depth:]))
        order = np.argsort(node, kind="stable")
        self._blocks = [
            _Block(below, node, order[begin : begin + step], counts) for begin in range(0, len(order), step)
        ]
        self.counts = np.concatenate([block.counts for block in self._blocks])

    def _depth(self, ordered: Sequence[Patterns], *, rows: int) -> tuple[int, int]:
        """Return the number of levels of the head, and that of its nodes."""
        nodes, cells = 1, math.prod(self._sizes)
        for depth, each in enumerate(ordered[:-1]):
            cells //= each.size
            more = nodes * len(each)
            if more > _COMBINATIONS_A_ROW * rows or more * cells > LARGEST_ARRAY:
                return depth, nodes
            nodes = more
        return len(ordered) - 1, nodes

    def forward(self, joint: FloatArray) -> FloatArray:
        numbers = np.transpose(joint, self._order)
        # Each product contracts the first axis and puts the patterns behind all others.
        for each in self._head:
            numbers = numbers.reshape(each.size, -1).T @ each.likelihoods().T
        numbers = np.ascontiguousarray(numbers.reshape(-1, self._nodes).T)
        return np.concatenate([block.forward(numbers[block.span]) for block in self._blocks])

    def backward(self, weights: FloatArray, features: Sequence[Feature | None]) -> FloatArray:
        chosen = [features[j] for j in self._order]
        depth = len(self._head)
        numbers = np.zeros((self._nodes, math.prod(self._sizes[depth:])))
        begin = 0
        for block in self._blocks:
            end = begin + len(block.counts)
            numbers[block.span] += block.backward(weights[begin:end], chosen[depth:])
            begin = end
        numbers = np.ascontiguousarray(numbers.T)
        for head, feature in zip(self._head[::-1], chosen[:depth][::-1], strict=True):
            numbers = head.likelihoods(feature).T @ numbers.reshape(-1, len(head)).T
        return np.ascontiguousarray(np.transpose(numbers.reshape(self._sizes), np.argsort(self._order)))

    def select(self, attributes: Sequence[int]) -> tuple[Sequence[Patterns], FloatArray]:
        """See `Contraction.select`: rows with the same patterns are added up if these are few."""
        return gathered([self._patterns[j] for j in attributes], self._rows)

    def by_row(self, numbers: FloatArray) -> FloatArray:
        ordered = np.empty_like(numbers)
        ordered[np.concatenate([block.rows for block in self._blocks])] = numbers
        return ordered


class _Block:
    """The levels below the head for rows of neighbouring nodes.

    span: the nodes of the head.
    rows: places of the rows among those that were arranged, sorted by node.
    counts: how often each of them came.
    """

    def __init__(
        self, patterns: Sequence[Patterns], node: NDArray[np.intp], rows: NDArray[np.intp], counts: FloatArray
    ) -> None:
        """Arrange `rows`, sorted by their node in the head."""
        first, last = int(node[rows[0]]), int(node[rows[-1]])
        self.span = slice(first, last + 1)
        self._levels: list[_Level] = []
        parent, parents = node[rows] - first, last + 1 - first
        for pattern in patterns[:-1]:
            child = parent * len(pattern) + pattern.codes[rows]
            _, representative, reached = np.unique(child, return_index=True, return_inverse=True)
            self._levels.append(_Level(pattern.select(rows[representative]), parent[representative], parents=parents))
            parent, parents = reached, len(representative)
        order = np.argsort(parent, kind="stable")
        self._leaves = _Level(patterns[-1].select(rows[order]), parent[order], parents=parents)
        self.rows = rows[order]
        self.counts = counts[self.rows]

    def forward(self, numbers: FloatArray) -> FloatArray:
        for level in self._levels:
            numbers = level.forward(numbers)
        return self._leaves.forward(numbers)[:, 0]

    def backward(self, weights: FloatArray, features: Sequence[Feature | None]) -> FloatArray:
        numbers = self._leaves.leaves_backward(weights, features[-1])
        for level, feature in zip(self._levels[::-1], features[-2::-1], strict=True):
            numbers = level.backward(numbers, feature)
        return numbers


class _Level:
    """One attribute: the nodes with their pattern and the node above, sorted by the latter."""

    def __init__(self, patterns: Patterns, parent: NDArray[np.intp], *, parents: int) -> None:
        # Imported here: reading a collection needs no solver, and must not wait for the import of SciPy.
        from scipy import sparse  # noqa: PLC0415

        self._patterns, self._parent = patterns, parent
        bounds = np.searchsorted(parent, np.arange(parents + 1)).astype(np.int32)
        ones, nodes = np.ones(len(parent)), np.arange(len(parent), dtype=np.int32)
        codes = patterns.codes.astype(np.int32)
        self._sum_of_children = sparse.csr_array((ones, nodes, bounds), shape=(parents, len(parent)))
        self._by_pattern = sparse.csr_array((ones, codes, bounds), shape=(parents, len(patterns)))

    def forward(self, above: FloatArray) -> FloatArray:
        """Contract the attribute: from shape (parents, cells) to (nodes, cells of the attributes behind it)."""
        nodes, size, table = len(self._parent), self._patterns.size, self._patterns.likelihoods()
        contracted = np.empty((nodes, above.shape[1] // size))
        step = max(1, CACHED // above.shape[1])
        for begin in range(0, nodes, step):
            part = slice(begin, begin + step)
            gathered = np.take(above, self._parent[part], axis=0)
            likelihoods = np.take(table, self._patterns.codes[part], axis=0)
            np.einsum("nvr,nv->nr", gathered.reshape(len(gathered), size, -1), likelihoods, out=contracted[part])
        return contracted

    def backward(self, below: FloatArray, feature: Feature | None) -> FloatArray:
        """Sum over the nodes below each parent, times their features: the way back of `forward`."""
        features = np.take(self._patterns.likelihoods(feature), self._patterns.codes, axis=0)
        products = (features[:, :, None] * below[:, None, :]).reshape(len(features), -1)
        return np.asarray(self._sum_of_children @ products)

    def leaves_backward(self, weights: FloatArray, feature: Feature | None) -> FloatArray:
        """Do what `backward` does for nodes that have one number each, without forming the products."""
        self._by_pattern.data = weights
        return np.asarray(self._by_pattern @ self._patterns.likelihoods(feature))


def _all_products(a: FloatArray, b: FloatArray) -> FloatArray:
    """Multiply every row of `a` with every row of `b`: every entry of one with every entry of the other."""
    return (a[:, None, :, None] * b[None, :, None, :]).reshape(len(a) * len(b), -1)
