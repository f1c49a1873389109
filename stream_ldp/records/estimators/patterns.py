"""The patterns of reports: the distinct rows of support of each attribute, and which report has which.

Let row i have the likelihood L_j[i, v] of value v of attribute j. An attribute of few values has few distinct rows of
L_j, its patterns, so that what is computed of them takes no longer the more reports there are.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from stream_ldp.mechanisms.packing import unpack
from stream_ldp.pipeline.statistics import RowCounts

FloatArray = NDArray[np.float64]
Feature = Callable[[FloatArray], FloatArray]

#: Widest attribute, in bits, whose reports are grouped by pattern; in wider ones nearly every report has its own.
_NARROW_BITS = 16
#: Entries of the largest array that a contraction holds: 32 MB as float64.
LARGEST_ARRAY = 2**22
#: Entries that are gathered at a time: 512 KB as float64 stay in a core's cache.
CACHED = 2**16
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
        step = max(1, LARGEST_ARRAY // self.size)
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


def gathered(patterns: Sequence[Patterns], counts: FloatArray) -> tuple[Sequence[Patterns], FloatArray]:
    """Add up the rows with the same patterns of all these attributes, if these are few.

    counts: how often each row came, shape (rows,).
    """
    combinations = math.prod(len(pattern) for pattern in patterns)
    if _ROWS_A_COMBINATION * combinations > len(counts):
        return patterns, counts
    return every_combination(patterns), counted(patterns, counts)


def sums_of_pairs(
    patterns: Sequence[Patterns], counts: FloatArray, features: Sequence[Feature]
) -> tuple[FloatArray, FloatArray]:
    """Sum the products of every two features over the rows, and their squares, each in one matrix product for all.

    A table for each pair of attributes takes as long for a row as the product does, and then what each pair costs.

    counts: how often each row came, shape (rows,).
    features: for each attribute, from the likelihoods of its values to as many numbers, row by row.

    Returns:
        Both of shape (features, features): those of all attributes one after another.
    """
    tables = [
        each.likelihoods(feature) if each.size <= _NARROW_BITS else None
        for each, feature in zip(patterns, features, strict=True)
    ]
    step = max(1, CACHED // sum(pattern.size for pattern in patterns))
    sums: list[FloatArray] = []
    for begin in range(0, len(counts), step):
        rows = np.arange(begin, min(begin + step, len(counts)))
        columns = np.concatenate(
            [
                each.select(rows).likelihoods(feature) if table is None else np.take(table, each.codes[rows], axis=0)
                for each, feature, table in zip(patterns, features, tables, strict=True)
            ],
            axis=1,
        )
        weighted = columns * np.sqrt(counts[rows])[:, None]
        columns *= weighted
        of_block = [weighted.T @ weighted, columns.T @ columns]
        sums = [so_far + more for so_far, more in zip(sums, of_block, strict=True)] if sums else of_block
    products, squares = sums
    return products, squares


def numbered(patterns: Sequence[Patterns]) -> NDArray[np.intp]:
    """Number the combination of patterns of each row, in the order of a table with an axis for each attribute."""
    first, *others = patterns
    return reduce(lambda number, each: number * len(each) + each.codes, others, first.codes)


def counted(patterns: Sequence[Patterns], counts: FloatArray) -> FloatArray:
    """Add up the counts of the rows of each combination of patterns, shape (combinations,)."""
    combinations = math.prod(len(pattern) for pattern in patterns)
    return np.bincount(numbered(patterns), weights=counts, minlength=combinations).astype(np.float64, copy=False)


def every_combination(patterns: Sequence[Patterns]) -> list[Patterns]:
    """Give rows the patterns that they have in a table with an entry for every combination."""
    distinct = [len(pattern) for pattern in patterns]
    every = np.unravel_index(np.arange(math.prod(distinct)), distinct)
    return [replace(each, codes=codes) for each, codes in zip(patterns, every, strict=True)]
