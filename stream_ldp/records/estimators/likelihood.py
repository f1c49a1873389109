"""The likelihood of reports under a joint distribution, and its gradient.

A report distinguishes the values of one attribute only by whether it supports them: everything else is common to all
values and cancels (`Support`; for the bits of RR-LDP, Chu, Long and Liu, 2022, Algorithm 2, lines 14-20). So the
likelihood of a report is a product over its attributes of rows that hold 1 where a value is supported and the
support's ratio where it is not; `contraction` says how it is computed for many reports.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Self

import numpy as np

from stream_ldp.pipeline.statistics import RowCounts
from stream_ldp.records.estimators.contraction import Contraction, arrange
from stream_ldp.records.estimators.patterns import Feature, FloatArray, Patterns, gathered, sums_of_pairs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stream_ldp.mechanisms import Support

#: Floor of a cell: a start with cells of 0 can give a report likelihood 0, whose logarithm is infinite.
_SMALLEST = 1e-100


class Score:
    """The log-likelihood and its gradient at one joint distribution.

    gradient: of the mean log-likelihood of a report, by cell; joint * gradient is the EM step.
    """

    def __init__(self, *, counts: FloatArray, z: FloatArray, gradient: FloatArray) -> None:
        """Keep how often each row came and its likelihood z: the logarithms take longer than the gradient."""
        self._counts, self._z = counts, z
        self.gradient = gradient

    @cached_property
    def log_likelihood(self) -> float:
        """Nats, of all reports; the likeliest value of each attribute counts as likelihood 1.

        That leaves out a constant that no joint distribution changes; of linked reports, it is another one.
        """
        return _log_likelihood(self._counts, self._z)


class Likelihood:
    """The likelihood of reports as a function of the joint distribution of their attributes.

    sizes: number of values of each attribute.
    reports: number of reports, or their total weight.
    """

    def __init__(self, *, sizes: tuple[int, ...], counts: FloatArray, patterns: Sequence[Patterns]) -> None:
        self.sizes = sizes
        self.reports = float(counts.sum())
        self._counts = counts
        self._patterns = tuple(patterns)

    @classmethod
    def of(cls, counts: RowCounts, *, sizes: tuple[int, ...], supports: Sequence[Support]) -> Self:
        """Make the likelihood of counted rows, which hold one bit for each value that a report may support.

        supports: the support of each attribute.

        Rows that no report can have carry no information and are left out: two bits set in an attribute that never
        sets a false one, or none in one that always sets the true one.

        Raises:
            ValueError: the rows do not have one bit for each value.
        """
        counts = possible(counts, sizes=sizes, supports=supports)
        return cls(
            sizes=sizes,
            counts=counts.counts.astype(np.float64),
            patterns=Patterns.of(counts, sizes=sizes, ratios=[support.ratio for support in supports]),
        )

    @classmethod
    def of_linked(cls, odds: FloatArray, *, sizes: tuple[int, ...]) -> Self:
        """Make the likelihood of users who each have sent several reports, all of them together.

        odds: for each value, the likelihood of a user's reports if the user has it over that if not, positive, shape
            (users, sum of sizes).

        Raises:
            ValueError: there is not one column for each value.
        """
        if odds.shape[1] != sum(sizes):
            raise ValueError(f"attributes of sizes {sizes} have {sum(sizes)} values, the odds have {odds.shape[1]}")
        if not len(odds):
            return cls(sizes=sizes, counts=np.zeros(0), patterns=())
        patterns = Patterns.of_odds(odds, sizes=sizes)
        return cls(sizes=sizes, counts=np.ones(len(odds)), patterns=patterns)

    def select(self, *attributes: int) -> Likelihood:
        """Return the likelihood of the reports' bits of these attributes alone, in ascending order."""
        if attributes == tuple(range(len(self.sizes))):
            return self
        patterns, counts = self._contraction.select(attributes)
        return Likelihood(sizes=tuple(self.sizes[j] for j in attributes), counts=counts, patterns=patterns)

    def of_few(self, *attributes: int) -> Likelihood:
        """Return the same as `select` without arranging the rows of all attributes.

        Those may have more cells together than can be held, where nobody asks for their joint.
        """
        patterns, counts = gathered([self._patterns[j] for j in attributes], self._counts)
        return Likelihood(sizes=tuple(self.sizes[j] for j in attributes), counts=counts, patterns=patterns)

    @property
    def rows(self) -> int:
        """Number of rows that one evaluation contracts; for narrow attributes it does not grow with the reports."""
        return self._contraction.counts.size

    def score(self, joint: FloatArray) -> Score:
        """Compute log-likelihood and gradient at `joint`, shape `sizes`; there must be at least one report."""
        counts = self._contraction.counts
        z = self._contraction.forward(np.maximum(joint, _SMALLEST))
        gradient = self._contraction.backward(counts / z, [None] * len(self.sizes))
        return Score(counts=counts, z=z, gradient=gradient / self.reports)

    def log_likelihood(self, joint: FloatArray) -> float:
        """Compute the log-likelihood alone, as in `Score`."""
        return _log_likelihood(self._contraction.counts, self._contraction.forward(np.maximum(joint, _SMALLEST)))

    def mean_products(self, features: Sequence[Feature], *, weights: FloatArray | None = None) -> FloatArray:
        """Mean over the reports of the products of one feature of each attribute, shape `sizes`.

        features: for each attribute, from the likelihoods of its values to as many numbers, row by row.
        weights: a factor of every row, as `relative` returns them; 1 if there are none.
        """
        counts = self._contraction.counts
        return self._contraction.backward(counts if weights is None else counts * weights, features) / self.reports

    def relative(self, function: FloatArray, joint: FloatArray) -> FloatArray:
        """Compute the likelihood of every row under a function of the cells over that at a joint distribution.

        function: shape `sizes`; it may be negative.
        joint: positive, shape `sizes`.

        Returns:
            A number a row, in the order and shape of the contraction; see `by_row`.
        """
        ratios: FloatArray = self._contraction.forward(function) / self._contraction.forward(joint)
        return ratios

    def mean(self, numbers: FloatArray) -> float:
        """Mean over the reports of a number a row, as `relative` returns them."""
        return float(np.vdot(self._contraction.counts, numbers)) / self.reports

    def by_row(self, numbers: FloatArray) -> FloatArray:
        """Put a number a row, as `relative` returns them, in the order of the rows that were counted."""
        return self._contraction.by_row(numbers)

    def weighted(self, weights: FloatArray) -> Likelihood:
        """Return the likelihood of the same rows, each so many times as often; weights have shape (rows,)."""
        return Likelihood(sizes=self.sizes, counts=self._counts * weights, patterns=self._patterns)

    def mean_products_of_pairs(self, features: Sequence[Feature]) -> tuple[FloatArray, FloatArray]:
        """Mean over the reports of the product of every two features, and of its square.

        features: as in `mean_products`, of attributes that need not be solved together.

        Returns:
            Both of shape (features, features): those of all attributes one after another.
        """
        products, squares = sums_of_pairs(self._patterns, self._counts, features)
        return products / self.reports, squares / self.reports

    def information(self, marginal: FloatArray) -> FloatArray:
        """Compute the observed information of one report about the value of a single attribute, shape (size, size).

        It is the mean of s s' over the reports, with s the score of each value at `marginal`.
        """
        (patterns,) = self._patterns
        return patterns.information(self._counts, marginal) / self.reports

    def information_beside_constant(self, marginal: FloatArray) -> FloatArray | None:
        """Compute the diagonal that `information` is but for terms c_v + c_w, if each report supports a single value.

        Nothing that is orthogonal to the constant sees those. None if some report supports several values, or none.
        """
        (patterns,) = self._patterns
        diagonal = patterns.information_beside_constant(self._counts, marginal)
        return None if diagonal is None else diagonal / self.reports

    @cached_property
    def _contraction(self) -> Contraction:
        return arrange(self._patterns, self._counts)


def _log_likelihood(counts: FloatArray, z: FloatArray) -> float:
    return float(np.vdot(counts, np.log(z)))


def possible(counts: RowCounts, *, sizes: Sequence[int], supports: Sequence[Support]) -> RowCounts:
    """Leave out the rows that no report can have.

    Raises:
        ValueError: the rows do not have one bit for each value.
    """
    if counts.bits != sum(sizes):
        raise ValueError(f"attributes of sizes {sizes} have {sum(sizes)} bits, the rows have {counts.bits}")
    if all(each.zero > 0.0 and each.one < 1.0 for each in supports):
        return counts
    parts = np.split(counts.unpacked(), np.cumsum(sizes)[:-1], axis=1)
    kept = np.ones(len(counts.counts), dtype=np.bool_)
    for attribute, support in zip(parts, supports, strict=True):
        ones = attribute.sum(axis=1)
        if support.zero == 0.0:
            kept &= ones <= 1
        if support.one == 1.0:
            kept &= ones >= 1
    return RowCounts(bits=counts.bits, rows=counts.rows[kept], counts=counts.counts[kept])
