"""Contractions: the probability of every row of reports under a joint distribution, and sums over the rows by cell.

Let row i have the likelihood L_j[i, v] of value v of attribute j. Both passes of an EM step are contractions,

    z_i = sum_w P_w prod_j L_j[i, w_j],    gradient_w = sum_i (c_i / z_i) prod_j L_j[i, w_j],

and an attribute of few values has few distinct rows of L_j, its patterns. A `PatternTable` has an entry for each
combination of patterns, so its cost does not depend on the number of reports. Where most combinations never occur, a
`PrefixTree` contracts one attribute after another, once for all rows that share the patterns of the attributes so
far. Neither ever forms the product of rows and cells. Where each row supports a single one of an attribute's many
values, `NamedValues` needs no table at all.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from stream_ldp.mechanisms.packing import unpack

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stream_ldp.pipeline.statistics import RowCounts

__all__ = [
    "Contraction",
    "Feature",
    "FloatArray",
    "NamedValues",
    "PatternTable",
    "Patterns",
    "PrefixTree",
    "arrange",
    "gathered",
    "sums_of_pairs",
]

FloatArray = NDArray[np.float64]
Feature = Callable[[FloatArray], FloatArray]

#: Widest attribute, in bits, whose reports are grouped by pattern; in wider ones nearly every report has its own.
_NARROW_BITS = 16
#: Entries of the largest array that a contraction holds: 32 MB as float64.
_LARGEST_ARRAY = 2**22
#: Entries that are gathered at a time: 512 KB as float64 stay in a core's cache.
_CACHED = 2**16
#: The first attributes are contracted for all combinations of their patterns while these are at most so many times
#: the rows: a matrix product takes less than half as long for a combination as a gather for one that occurs.
_COMBINATIONS_A_ROW = 2
#: Rows with the same patterns are added up if at most one of so many remains: of more, adding up costs what it saves.
_ROWS_A_COMBINATION = 8


@dataclass(frozen=True, kw_only=True, eq=False)
class Patterns:
    """The distinct patterns of support of one attribute, and which row has which.

    support: level of each value in each pattern, unsigned integers, shape (patterns, size); of the reports of users
        who report once, 1 for a value that is supported, and 0 for any other.
    codes: index of the pattern of each row, shape (rows,).
    levels: likelihood of a value of each level, positive, shape (levels,).
    """

    support: NDArray[np.integer[Any]]
    codes: NDArray[np.intp]
    levels: FloatArray

    @classmethod
    def of(cls, counts: RowCounts, *, sizes: Sequence[int], ratios: Sequence[float]) -> list[Self]:
        """Find the patterns of attributes of these sizes, whose bits the rows hold one after another."""
        if max(sizes) <= _NARROW_BITS:
            return [
                cls._narrow(numbers, size, ratio)
                for numbers, size, ratio in zip(unpack(counts.rows, sizes), sizes, ratios, strict=True)
            ]
        parts = np.split(counts.unpacked(), np.cumsum(sizes)[:-1], axis=1)
        return [cls._any(*each) for each in zip(parts, sizes, ratios, strict=True)]

    @classmethod
    def of_odds(cls, odds: FloatArray, *, sizes: Sequence[int]) -> list[Self]:
        """Find the patterns of attributes of these sizes in the odds of their values, shape (rows, sum of sizes)."""
        levels, numbers = np.unique(odds, return_inverse=True)
        numbers = numbers.reshape(odds.shape).astype(np.min_scalar_type(len(levels)))
        made = []
        for support in np.split(numbers, np.cumsum(sizes)[:-1], axis=1):
            distinct, codes = np.unique(support, axis=0, return_inverse=True)
            made.append(cls(support=distinct, codes=codes.reshape(-1), levels=levels / levels.max()))
        return made

    @classmethod
    def _any(cls, bits: NDArray[np.uint8], size: int, ratio: float) -> Self:
        if size <= _NARROW_BITS:
            return cls._narrow(bits @ (1 << np.arange(size)), size, ratio)
        if (bits.sum(axis=1) == 1).all():
            distinct, codes = np.unique(bits.argmax(axis=1), return_inverse=True)
            return cls(support=np.eye(size, dtype=np.uint8)[distinct], codes=codes, levels=np.array([ratio, 1.0]))
        # No bit set says as little as all bits set: one pattern for both.
        bits = np.where(bits.any(axis=1, keepdims=True), bits, np.uint8(1))
        return cls(support=bits, codes=np.arange(len(bits)), levels=np.array([ratio, 1.0]))

    @classmethod
    def _narrow(cls, numbers: NDArray[np.int64], size: int, ratio: float) -> Self:
        every = 2**size - 1
        # As for wide ones: no bit set says as little as all bits set.
        occurs = np.bincount(numbers, minlength=every + 1) > 0
        occurs[every] |= occurs[0]
        occurs[0] = False
        distinct = np.flatnonzero(occurs)
        place = np.cumsum(occurs) - 1
        place[0] = place[every]
        return cls(
            support=((distinct[:, None] >> np.arange(size)) & 1).astype(np.uint8),
            codes=place[numbers],
            levels=np.array([ratio, 1.0]),
        )

    def __len__(self) -> int:
        return len(self.support)

    @property
    def size(self) -> int:
        """Number of values of the attribute."""
        size: int = self.support.shape[1]
        return size

    def select(self, rows: NDArray[np.intp]) -> Self:
        """Select rows; the patterns remain, unless nearly each row has its own."""
        if self.size <= _NARROW_BITS:
            return replace(self, codes=self.codes[rows])
        return self.of_patterns(self.codes[rows])

    def of_patterns(self, which: NDArray[np.intp]) -> Self:
        """Select patterns, with a row for each."""
        return replace(self, support=self.support[which], codes=np.arange(len(which)))

    def likelihoods(self, feature: Feature | None = None) -> FloatArray:
        """Compute the relative likelihood of each value given each pattern, shape (patterns, size).

        feature: what is computed of each pattern's likelihoods instead.
        """
        table = self._table if self.size <= _NARROW_BITS else self._computed()
        return table if feature is None else feature(table)

    def information(self, counts: FloatArray, marginal: FloatArray) -> FloatArray:
        """Add up s s' over the rows, s the score of each value at `marginal`; shape (size, size).

        The score of a value is its likelihood over the mean likelihood; `counts` says how often each row came.
        """
        weights = np.bincount(self.codes, weights=counts, minlength=len(self))
        information = np.zeros((self.size, self.size))
        step = max(1, _LARGEST_ARRAY // self.size)
        for begin in range(0, len(self), step):
            rows = slice(begin, begin + step)
            A = self._table[rows] if self.size <= _NARROW_BITS else self.levels[self.support[rows]]
            information += (A * (weights[rows] / (A @ marginal) ** 2)[:, None]).T @ A
        return information

    def information_beside_constant(self, counts: FloatArray, marginal: FloatArray) -> FloatArray | None:
        """Compute the diagonal that `information` is but for terms c_v + c_w, if each pattern supports one value.

        Its likelihoods are then L = r + (1 - r) e_v, so that L L' = (1 - r)^2 e_v e_v' and such terms.
        """
        named = self.named
        if named is None:
            return None
        zero, one = self.levels
        mean = zero * marginal.sum() + (one - zero) * marginal[named]
        weights = np.bincount(self.codes, weights=counts, minlength=len(self)) / mean**2
        diagonal: FloatArray = (one - zero) ** 2 * np.bincount(named, weights=weights, minlength=self.size)
        return diagonal

    @cached_property
    def named(self) -> NDArray[np.intp] | None:
        """The value that each pattern supports, shape (patterns,), if each of them supports one; else None."""
        if len(self.levels) != 2 or not (self.support.sum(axis=1) == 1).all():
            return None
        named: NDArray[np.intp] = self.support.argmax(axis=1)
        return named

    @cached_property
    def _table(self) -> FloatArray:
        return self._computed()

    def _computed(self) -> FloatArray:
        likelihoods: FloatArray = self.levels[self.support]
        return likelihoods


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
        self._sizes = tuple(each.size for each in patterns)
        self._A, self._B = self._factors([None] * len(patterns))
        # A product with a transposed view takes a third longer.
        self._transposed = np.ascontiguousarray(self._B.T)

    @classmethod
    def of(cls, patterns: Sequence[Patterns], counts: FloatArray) -> Self | None:
        """Count rows by pattern; return None if that is more work than row by row, or too large."""
        sizes, distinct = [each.size for each in patterns], [len(each) for each in patterns]
        half = min(range(1, len(sizes) + 1), key=lambda j: math.prod(sizes[:j]) + math.prod(sizes[j:]))
        cells = math.prod(sizes[:half]), math.prod(sizes[half:])
        rows = math.prod(distinct[:half]), math.prod(distinct[half:])
        entries = rows[0] * rows[1]
        if max(entries, rows[0] * cells[0], rows[1] * cells[1]) > _LARGEST_ARRAY or entries > len(counts) * cells[0]:
            return None
        return cls(patterns, half, _table(patterns, counts).reshape(rows))

    def forward(self, joint: FloatArray) -> FloatArray:
        """See `Contraction.forward`."""
        return self._A @ joint.reshape(self._A.shape[1], -1) @ self._transposed

    def backward(self, weights: FloatArray, features: Sequence[Feature | None]) -> FloatArray:
        """See `Contraction.backward`."""
        A, B = (self._A, self._B) if not any(features) else self._factors(features)
        return (A.T @ weights @ B).reshape(self._sizes)

    def select(self, attributes: Sequence[int]) -> tuple[Sequence[Patterns], FloatArray]:
        """See `Contraction.select`: what the table says of some attributes needs no row."""
        others = tuple(j for j in range(len(self._patterns)) if j not in attributes)
        table = self.counts.reshape([len(each) for each in self._patterns])
        return _every_combination([self._patterns[j] for j in attributes]), table.sum(axis=others).ravel()

    def _factors(self, features: Sequence[Feature | None]) -> tuple[FloatArray, FloatArray]:
        tables = [each.likelihoods(feature) for each, feature in zip(self._patterns, features, strict=True)]
        one = np.ones((1, 1))
        return (
            reduce(_all_products, tables[: self._half], one),
            reduce(_all_products, tables[self._half :], one),
        )


class NamedValues:
    """Rows of one attribute of which each supports a single value: no product with a row for each value is formed."""

    def __init__(self, patterns: Patterns, named: NDArray[np.intp], counts: FloatArray) -> None:
        self._patterns, self._named = patterns, named
        self.counts: FloatArray = _table([patterns], counts)

    @classmethod
    def of(cls, patterns: Sequence[Patterns], counts: FloatArray) -> Self | None:
        """Count rows by the value that they support; return None if there are other attributes or other rows."""
        if len(patterns) > 1 or patterns[0].named is None:
            return None
        return cls(patterns[0], patterns[0].named, counts)

    def forward(self, joint: FloatArray) -> FloatArray:
        """See `Contraction.forward`."""
        zero, one = self._patterns.levels
        z: FloatArray = zero * joint.sum() + (one - zero) * joint[self._named]
        return z

    def backward(self, weights: FloatArray, features: Sequence[Feature | None]) -> FloatArray:
        """See `Contraction.backward`."""
        (feature,), (zero, one) = features, self._patterns.levels
        if feature is None:
            of_value = np.bincount(self._named, weights=weights, minlength=self._patterns.size)
            gradient: FloatArray = zero * weights.sum() + (one - zero) * of_value
            return gradient
        step = max(1, _LARGEST_ARRAY // self._patterns.size)
        sums = np.zeros(self._patterns.size)
        for begin in range(0, len(self._patterns), step):
            rows = np.arange(begin, min(begin + step, len(self._patterns)))
            sums += weights[rows] @ self._patterns.of_patterns(rows).likelihoods(feature)
        return sums

    def select(self, attributes: Sequence[int]) -> tuple[Sequence[Patterns], FloatArray]:  # noqa: ARG002
        """See `Contraction.select`: there is one attribute."""
        return _every_combination([self._patterns]), self.counts


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
        node = _numbers(self._head) if self._head else np.zeros(len(counts), dtype=np.intp)
        step = max(1, _LARGEST_ARRAY // math.prod(self._sizes[depth:]))
        order = np.argsort(node, kind="stable")
        self._blocks = [
            _Block(below, node, order[begin : begin + step], counts) for begin in range(0, len(order), step)
        ]
        self.counts = np.concatenate([each.counts for each in self._blocks])

    def _depth(self, ordered: Sequence[Patterns], *, rows: int) -> tuple[int, int]:
        """Return the number of levels of the head, and that of its nodes."""
        nodes, cells = 1, math.prod(self._sizes)
        for depth, each in enumerate(ordered[:-1]):
            cells //= each.size
            more = nodes * len(each)
            if more > _COMBINATIONS_A_ROW * rows or more * cells > _LARGEST_ARRAY:
                return depth, nodes
            nodes = more
        return len(ordered) - 1, nodes

    def forward(self, joint: FloatArray) -> FloatArray:
        """See `Contraction.forward`."""
        numbers = np.transpose(joint, self._order)
        # Each product contracts the first axis and puts the patterns behind all others.
        for each in self._head:
            numbers = numbers.reshape(each.size, -1).T @ each.likelihoods().T
        numbers = np.ascontiguousarray(numbers.reshape(-1, self._nodes).T)
        return np.concatenate([each.forward(numbers[each.span]) for each in self._blocks])

    def backward(self, weights: FloatArray, features: Sequence[Feature | None]) -> FloatArray:
        """See `Contraction.backward`."""
        chosen = [features[j] for j in self._order]
        depth = len(self._head)
        numbers = np.zeros((self._nodes, math.prod(self._sizes[depth:])))
        begin = 0
        for each in self._blocks:
            end = begin + len(each.counts)
            numbers[each.span] += each.backward(weights[begin:end], chosen[depth:])
            begin = end
        numbers = np.ascontiguousarray(numbers.T)
        for head, feature in zip(self._head[::-1], chosen[:depth][::-1], strict=True):
            numbers = head.likelihoods(feature).T @ numbers.reshape(-1, len(head)).T
        return np.ascontiguousarray(np.transpose(numbers.reshape(self._sizes), np.argsort(self._order)))

    def select(self, attributes: Sequence[int]) -> tuple[Sequence[Patterns], FloatArray]:
        """See `Contraction.select`: rows with the same patterns are added up if these are few."""
        return gathered([self._patterns[j] for j in attributes], self._rows)


def gathered(patterns: Sequence[Patterns], counts: FloatArray) -> tuple[Sequence[Patterns], FloatArray]:
    """Add up the rows with the same patterns of all these attributes, if these are few.

    counts: how often each row came, shape (rows,).
    """
    combinations = math.prod(len(each) for each in patterns)
    if _ROWS_A_COMBINATION * combinations > len(counts):
        return patterns, counts
    return _every_combination(patterns), _table(patterns, counts)


def sums_of_pairs(patterns: Sequence[Patterns], counts: FloatArray, features: Sequence[Feature]) -> FloatArray:
    """Sum count times the product of every two features over the rows, those of all attributes in one matrix product.

    A table for each pair of attributes takes as long for a row as the product does, and then what each pair costs.

    counts: how often each row came, shape (rows,).
    features: for each attribute, from the likelihoods of its values to as many numbers, row by row.

    Returns:
        Shape (sum of sizes, sum of sizes): the features of all attributes one after another.
    """
    width = sum(each.size for each in patterns)
    tables = [
        each.likelihoods(feature) if each.size <= _NARROW_BITS else None
        for each, feature in zip(patterns, features, strict=True)
    ]
    sums = np.zeros((width, width))
    step = max(1, _CACHED // width)
    for begin in range(0, len(counts), step):
        rows = np.arange(begin, min(begin + step, len(counts)))
        columns = np.concatenate(
            [
                each.select(rows).likelihoods(feature) if table is None else np.take(table, each.codes[rows], axis=0)
                for each, feature, table in zip(patterns, features, tables, strict=True)
            ],
            axis=1,
        )
        columns *= np.sqrt(counts[rows])[:, None]
        sums += columns.T @ columns
    return sums


class _Block:
    """The levels below the head for rows of neighbouring nodes.

    span: the nodes of the head.
    counts: how often each row came; rows are sorted by node.
    """

    def __init__(
        self, patterns: Sequence[Patterns], node: NDArray[np.intp], rows: NDArray[np.intp], counts: FloatArray
    ) -> None:
        """Arrange `rows`, sorted by their node in the head."""
        first, last = int(node[rows[0]]), int(node[rows[-1]])
        self.span = slice(first, last + 1)
        self._levels: list[_Level] = []
        parent, parents = node[rows] - first, last + 1 - first
        for each in patterns[:-1]:
            child = parent * len(each) + each.codes[rows]
            _, representative, reached = np.unique(child, return_index=True, return_inverse=True)
            self._levels.append(_Level(each.select(rows[representative]), parent[representative], parents=parents))
            parent, parents = reached, len(representative)
        order = np.argsort(parent, kind="stable")
        self._leaves = _Level(patterns[-1].select(rows[order]), parent[order], parents=parents)
        self.counts = counts[rows[order]]

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
        step = max(1, _CACHED // above.shape[1])
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


def _numbers(patterns: Sequence[Patterns]) -> NDArray[np.intp]:
    """Number the combination of patterns of each row, in the order of a table with an axis for each attribute."""
    first, *others = patterns
    return reduce(lambda number, each: number * len(each) + each.codes, others, first.codes)


def _table(patterns: Sequence[Patterns], counts: FloatArray) -> FloatArray:
    """Add up the counts of the rows of each combination of patterns, shape (combinations,)."""
    combinations = math.prod(len(each) for each in patterns)
    return np.bincount(_numbers(patterns), weights=counts, minlength=combinations).astype(np.float64, copy=False)


def _every_combination(patterns: Sequence[Patterns]) -> list[Patterns]:
    """Give rows the patterns that they have in a table with an entry for every combination."""
    distinct = [len(each) for each in patterns]
    every = np.unravel_index(np.arange(math.prod(distinct)), distinct)
    return [replace(each, codes=codes) for each, codes in zip(patterns, every, strict=True)]


def _all_products(a: FloatArray, b: FloatArray) -> FloatArray:
    """Multiply every row of `a` with every row of `b`: every entry of one with every entry of the other."""
    return (a[:, None, :, None] * b[None, :, None, :]).reshape(len(a) * len(b), -1)
