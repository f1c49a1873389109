"""The likelihood of reports under a joint distribution, and its gradient.

A report distinguishes the values of one attribute only by whether it supports them: everything else is common to all
values and cancels (`Support`; for the bits of RR-LDP, Chu, Long and Liu, 2022, Algorithm 2, lines 14-20). So the
likelihood of a report is a product over its attributes of rows that hold 1 where a value is supported and the
support's ratio where it is not, and with the attributes in two halves a and b, both passes of an EM step are matrix
products:

    Z = A P B',    gradient = A' (C / Z) B / N.

Where the attributes are narrow, the rows of A and B are the distinct bit patterns of each half and C is the table of
their counts: the cost does not depend on the number of reports. Where they are wide, the rows are the reports, in
blocks of bounded size, and C is diagonal.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from stream_ldp.mechanisms import Support
    from stream_ldp.pipeline.statistics import RowCounts

__all__ = ["FloatArray", "Likelihood", "Score"]

FloatArray = NDArray[np.float64]
Feature = Callable[[FloatArray], FloatArray]

#: Widest attribute, in bits, whose reports are grouped by pattern; in wider ones nearly every report has its own.
_NARROW_BITS = 16
#: Entries of the largest array that a contraction holds: 32 MB as float64.
_LARGEST_ARRAY = 2**22
#: Floor of a cell: a start with cells of 0 can give a report likelihood 0, of which the logarithm is infinite.
_SMALLEST = 1e-100


class Score(NamedTuple):
    """The log-likelihood and its gradient at one joint distribution.

    log_likelihood: nats, of all reports; the likeliest value of each attribute counts as likelihood 1, which
        leaves out a constant that no joint distribution changes.
    gradient: of the mean log-likelihood of a report, by cell; joint * gradient is the EM step.
    """

    log_likelihood: float
    gradient: FloatArray


class Likelihood:
    """The likelihood of reports as a function of the joint distribution of their attributes.

    sizes: number of values of each attribute.
    reports: number of reports, or their total weight.
    """

    def __init__(self, *, sizes: tuple[int, ...], counts: FloatArray, patterns: Sequence[_Patterns]) -> None:
        self.sizes = sizes
        self.reports = float(counts.sum())
        self._counts = counts
        self._patterns = tuple(patterns)
        self._half = min(range(1, len(sizes) + 1), key=lambda j: math.prod(sizes[:j]) + math.prod(sizes[j:]))
        self._cells = math.prod(sizes[: self._half]), math.prod(sizes[self._half :])
        self._table = self._pattern_table()

    @classmethod
    def of(cls, counts: RowCounts, *, sizes: tuple[int, ...], supports: Sequence[Support]) -> Self:
        """Make the likelihood of counted rows, which hold one bit for each value that a report may support.

        supports: the support of each attribute.

        Rows that no report can have (two bits set in an attribute when it never sets a false one, none when
        it always sets the true one) say nothing about any value and are left out.

        Raises:
            ValueError: the rows do not have one bit for each value.
        """
        if counts.bits != sum(sizes):
            raise ValueError(f"attributes of sizes {sizes} have {sum(sizes)} bits, the rows have {counts.bits}")
        bits = counts.unpacked()
        ends = np.cumsum(sizes)[:-1]
        possible = np.ones(len(bits), dtype=np.bool_)
        for attribute, support in zip(np.split(bits, ends, axis=1), supports, strict=True):
            ones = attribute.sum(axis=1)
            if support.zero == 0.0:
                possible &= ones <= 1
            if support.one == 1.0:
                possible &= ones >= 1
        return cls(
            sizes=sizes,
            counts=counts.counts[possible].astype(np.float64),
            patterns=[
                _Patterns.of(attribute, ratio=support.ratio)
                for attribute, support in zip(np.split(bits[possible], ends, axis=1), supports, strict=True)
            ],
        )

    def select(self, *attributes: int) -> Likelihood:
        """Make the likelihood of the reports' bits of these attributes alone."""
        return Likelihood(
            sizes=tuple(self.sizes[j] for j in attributes),
            counts=self._counts,
            patterns=[self._patterns[j] for j in attributes],
        )

    @property
    def rows(self) -> int:
        """Number of rows that one evaluation contracts; for narrow attributes it does not grow with the reports."""
        return len(self._counts) if self._table is None else self._table.counts.size

    def score(self, joint: FloatArray) -> Score:
        """Compute log-likelihood and gradient at `joint`, shape `sizes`; there must be at least one report."""
        P = np.maximum(joint, _SMALLEST).reshape(self._cells)
        if self._table is not None:
            A, B, C = self._table
            Z = A @ P @ B.T
            log_likelihood = float(np.vdot(C, np.log(Z)))
            gradient = A.T @ (C / Z) @ B
        else:
            log_likelihood, gradient = 0.0, np.zeros_like(P)
            for A, B, c in self._blocks():
                z = np.einsum("ij,ij->i", A @ P, B)
                log_likelihood += float(c @ np.log(z))
                gradient += A.T @ (B * (c / z)[:, None])
        return Score(log_likelihood, gradient.reshape(self.sizes) / self.reports)

    def mean_products(self, features: Sequence[Feature]) -> FloatArray:
        """Mean over the reports of the products of one feature of each attribute, shape `sizes`.

        features: for each attribute, from the likelihoods of its values to as many numbers, row by row.
        """
        if self._table is not None:
            A, B = self._pattern_factors(features)
            C = self._table.counts
            return (A.T @ C @ B).reshape(self.sizes) / self.reports
        total = np.zeros(self._cells)
        for A, B, c in self._blocks(features):
            total += A.T @ (B * c[:, None])
        return total.reshape(self.sizes) / self.reports

    def information(self, marginal: FloatArray) -> FloatArray:
        """Compute the observed information of one report about the value of a single attribute, shape (size, size).

        It is the mean of s s' over the reports, with s the score of each value at `marginal`.
        """
        information = np.zeros((len(marginal), len(marginal)))
        for A, _, c in self._blocks():
            information += (A * (c / (A @ marginal) ** 2)[:, None]).T @ A
        return information / self.reports

    def _pattern_table(self) -> _Table | None:
        """Count the reports by pattern; None if that is more work than report by report, or too large."""
        distinct = [len(each.bits) for each in self._patterns]
        rows = math.prod(distinct[: self._half]), math.prod(distinct[self._half :])
        entries = rows[0] * rows[1]
        largest = max(entries, rows[0] * self._cells[0], rows[1] * self._cells[1])
        if not entries or largest > _LARGEST_ARRAY or entries > len(self._counts) * self._cells[0]:
            return None
        codes = np.ravel_multi_index([each.codes for each in self._patterns], distinct)
        counts = np.bincount(codes, weights=self._counts, minlength=entries).reshape(rows).astype(np.float64)
        return _Table(*self._pattern_factors(), counts)

    def _pattern_factors(self, features: Sequence[Feature] | None = None) -> tuple[FloatArray, FloatArray]:
        tables = [each.likelihood(slice(None)) for each in self._patterns]
        if features is not None:
            tables = [feature(table) for feature, table in zip(features, tables, strict=True)]
        one = np.ones((1, 1))
        return (
            reduce(_all_products, tables[: self._half], one),
            reduce(_all_products, tables[self._half :], one),
        )

    def _blocks(self, features: Sequence[Feature] | None = None) -> Iterator[_Table]:
        """Iterate over blocks of reports: likelihoods of both halves row by row, and the counts as a vector."""
        step = max(1, _LARGEST_ARRAY // sum(self._cells))
        for begin in range(0, len(self._counts), step):
            counts = self._counts[begin : begin + step]
            tables = [each.likelihood(each.codes[begin : begin + step]) for each in self._patterns]
            if features is not None:
                tables = [feature(table) for feature, table in zip(features, tables, strict=True)]
            ones = np.ones((len(counts), 1))
            yield _Table(
                reduce(_row_products, tables[: self._half], ones),
                reduce(_row_products, tables[self._half :], ones),
                counts,
            )


@dataclass(frozen=True, kw_only=True, slots=True)
class _Patterns:
    """The distinct patterns of support of one attribute, and which row has which.

    bits: 1 for a value that is supported, uint8, shape (patterns, size).
    codes: index of the pattern of each row.
    ratio: likelihood of a value that is not supported over that of one that is.
    """

    bits: NDArray[np.uint8]
    codes: NDArray[np.intp]
    ratio: float

    @classmethod
    def of(cls, bits: NDArray[np.uint8], *, ratio: float) -> Self:
        size = bits.shape[1]
        # No bit set says as little as all bits set: one pattern for both.
        bits = np.where(bits.any(axis=1, keepdims=True), bits, np.uint8(1))
        if size > _NARROW_BITS:
            return cls(bits=bits, codes=np.arange(len(bits)), ratio=ratio)
        distinct, codes = np.unique(bits @ (1 << np.arange(size)), return_inverse=True)
        return cls(bits=((distinct[:, None] >> np.arange(size)) & 1).astype(np.uint8), codes=codes, ratio=ratio)

    def likelihood(self, which: NDArray[np.intp] | slice) -> FloatArray:
        """Compute the likelihood of each value given some patterns, relative to the likeliest; shape (n, size)."""
        return np.where(self.bits[which], 1.0, self.ratio)


class _Table(NamedTuple):
    """The likelihoods of the rows of both halves, shapes (rows, cells of the half), and the counts."""

    A: FloatArray
    B: FloatArray
    counts: FloatArray


def _all_products(a: FloatArray, b: FloatArray) -> FloatArray:
    """Multiply every row of `a` with every row of `b` as `_row_products` does."""
    return (a[:, None, :, None] * b[None, :, None, :]).reshape(len(a) * len(b), -1)


def _row_products(a: FloatArray, b: FloatArray) -> FloatArray:
    """Multiply, row by row, every entry of `a` with every entry of `b`."""
    return (a[:, :, None] * b[:, None, :]).reshape(len(a), -1)
