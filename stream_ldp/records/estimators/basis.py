"""An orthonormal basis of functions of a record, in which the reports' information is diagonal.

Under a product of marginals P0 the reports of the attributes are independent too, so their information about a
joint distribution P has product form: it is diagonal in products phi_k of one function of each attribute, the
eigenfunctions of that attribute's own information. With the products orthonormal under P0, the coefficients of P are
d_k = sum_w P_w phi_k(w), and the means u_k of phi_k's score over N reports estimate them:

    E u_k = lambda_k d_k,    Var u_k = lambda_k / N under P0,

where lambda_k in [0, 1] is the share of a true record's information that a report retains. The first function of each
attribute is the constant 1. The order of a product is the number of its other factors: 1 for marginals, 2 for what
pairs of attributes add, and so on (the orthogonal decomposition of Lancaster, 1969).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from stream_ldp.records.estimators.likelihood import Likelihood
from stream_ldp.records.estimators.patterns import Feature, FloatArray
from stream_ldp.records.estimators.secular import eigh_beside

#: Without noise, a value that no report supports has probability 0, and then no function has unit variance.
_MIN_PROBABILITY = 1e-12
#: Retained shares below this one are taken for it: they are 0 but for rounding, and what reports say of such a
#: function is less than nothing.
MIN_RETAINED = 1e-12
#: Least number of values for which what reports of a single value allow is faster than a dense matrix.
_WIDE = 200


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class AttributeBasis:
    """Orthonormal functions of one attribute's values.

    marginal: the distribution under which they are orthonormal, positive, shape (size,).
    functions: shape (size, size); column k is function k, column 0 the constant 1. None is less at the last value
        than at the first.
    retained: lambda of each function, shape (size,).
    """

    marginal: FloatArray
    functions: FloatArray
    retained: FloatArray

    @classmethod
    def of(cls, likelihood: Likelihood, marginal: FloatArray) -> Self:
        """Compute the eigenfunctions of the observed information at `marginal`.

        likelihood: that of the reports of this attribute alone.
        """
        marginal = np.maximum(marginal, _MIN_PROBABILITY)
        root = np.sqrt(marginal / marginal.sum())
        values, vectors = _eigenfunctions(likelihood, root)
        functions = vectors / root[:, None]
        functions = np.where(functions[-1] < functions[0], -functions, functions)
        return cls(
            marginal=root**2,
            functions=np.column_stack([np.ones(len(root)), functions]),
            retained=np.concatenate([[1.0], np.clip(values, 0.0, 1.0)]),
        )

    def scores(self, likelihoods: FloatArray) -> FloatArray:
        """Compute each function's posterior mean given each row of likelihoods, shape (rows, size)."""
        scores = _products(likelihoods, self.marginal[:, None] * self.functions)
        # The constant's mean is that of the likelihood, by which all others are divided.
        scores /= scores[:, :1].copy()
        return scores

    def unshrunk(self, likelihoods: FloatArray) -> FloatArray:
        """Compute the estimate of each value's share from each row of likelihoods alone, shape (rows, size).

        Its mean is 1 for the true value and 0 for the others, and so it is mostly far outside [0, 1].
        """
        return self.scores(likelihoods) @ self._inverse

    @property
    def unshrunk_squares(self) -> FloatArray:
        """The mean square of `unshrunk` for users who are distributed as the marginal, shape (size,)."""
        squares: FloatArray = np.square(self._inverse).T @ np.maximum(self.retained, MIN_RETAINED)
        return squares

    def mean_unshrunk_squares(self, moments: Moments) -> FloatArray:
        """Compute the mean square of `unshrunk` over the reports with these moments, shape (size,).

        The mean product of the scores of two functions but the constant is 0, since the functions are eigenfunctions
        of the information of the same reports.
        """
        constant, *_ = inverse = self._inverse
        squares: FloatArray = moments.squares @ np.square(inverse)
        squares += 2.0 * constant * (moments.means[1:] @ inverse[1:])
        return squares

    @property
    def _inverse(self) -> FloatArray:
        inverse: FloatArray = (self.functions / np.maximum(self.retained, MIN_RETAINED)).T * self.marginal
        return inverse


def _products(likelihoods: FloatArray, matrix: FloatArray) -> FloatArray:
    """Multiply rows of likelihoods with a matrix, without a dense product where each stands out in a single value."""
    if likelihoods.shape[1] >= _WIDE and len(likelihoods):
        lowest = likelihoods.min()
        if (np.count_nonzero(likelihoods > lowest, axis=1) == 1).all():
            named = likelihoods.argmax(axis=1)
            more = likelihoods[np.arange(len(likelihoods)), named] - lowest
            found: FloatArray = matrix[named]
            found *= more[:, None]
            found += lowest * matrix.sum(axis=0)
            return found
    dense: FloatArray = likelihoods @ matrix
    return dense


def _eigenfunctions(likelihood: Likelihood, root: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Find the eigenvectors of the whitened information that are orthogonal to the constant, and their eigenvalues.

    root: of each value's probability: the constant, whitened.
    """
    if len(root) >= _WIDE and (own := likelihood.information_beside_constant(root**2)) is not None:
        return eigh_beside(own * root**2, root)
    constant = np.outer(root, root)
    if len(root) == 2:  # one direction is orthogonal to the constant
        (less, more), one = root, likelihood.information(root**2) * constant
        direction = np.array([-more, less])
        return direction @ one @ direction[:, None], direction[:, None]
    beside_constant = np.eye(len(root)) - constant
    whitened = likelihood.information(root**2) * constant
    # The constant gets eigenvalue -1, and eigh puts the smallest first: with 0, it would be mixed with the functions
    # of values that nobody has named; nothing of them is retained.
    values, vectors = np.linalg.eigh(beside_constant @ whitened @ beside_constant - constant)
    return values[1:], vectors[:, 1:]


class Moments(NamedTuple):
    """The mean and mean square of the score of every product over the reports.

    reports: N, number of reports.
    means: u_k.
    squares: mean squares, N Var u_k + u_k^2 in expectation for any true joint.
    """

    reports: float
    means: FloatArray
    squares: FloatArray


class ProductBasis:
    """All products of one function of each attribute; arrays have the joint's shape, one entry a product or a cell.

    product: P0, the product of the marginals.
    retained: lambda_k.
    order: the number of factors other than the constant.
    """

    def __init__(self, attributes: Sequence[AttributeBasis]) -> None:
        self.attributes = tuple(attributes)
        self.product: FloatArray = reduce(np.multiply.outer, [attribute.marginal for attribute in attributes])
        self.retained: FloatArray = reduce(np.multiply.outer, [each.retained for each in attributes])
        self.order: NDArray[np.intp] = reduce(
            np.add.outer, [(np.arange(len(each.marginal)) > 0).astype(np.intp) for each in attributes]
        )

    def coefficients(self, joint: FloatArray) -> FloatArray:
        """Compute d_k of a joint distribution for every k."""
        return transformed(joint, [attribute.functions.T for attribute in self.attributes])

    def joint(self, coefficients: FloatArray) -> FloatArray:
        """Invert `coefficients`; the result sums to coefficient 0, and a cell may be negative."""
        return self.product * transformed(coefficients, [attribute.functions for attribute in self.attributes])

    def variances(self, by_product: FloatArray) -> FloatArray:
        """Compute the variance of P_w / P0_w for every cell w: sum_k v_k phi_k(w)^2.

        by_product: v_k, the variance of every coefficient.
        """
        return transformed(by_product, [attribute.functions**2 for attribute in self.attributes])

    def noise_ratios(self, likelihood: Likelihood, moments: Moments) -> FloatArray:
        """Compute how noisy each cell is, relative to the same cell of independent attributes.

        A cell's noise is that of its own users, who may look like others, and of those who may look like them. It is
        measured as the mean square of the cell's unshrunk estimate over the reports, at least one.

        moments: those of the same reports.
        """
        if len(self.attributes) == 1:
            squares = self.attributes[0].mean_unshrunk_squares(moments)
        else:
            squares = likelihood.mean_products([_unshrunk_squares(each) for each in self.attributes])
        independent: FloatArray = reduce(
            np.multiply.outer, [attribute.unshrunk_squares for attribute in self.attributes]
        )
        return squares / independent

    def moments(self, likelihood: Likelihood) -> Moments:
        """Compute the moments of at least one report of these attributes."""
        scored = [Scored(attribute) for attribute in self.attributes]
        return Moments(
            likelihood.reports,
            likelihood.mean_products([each.scores for each in scored]),
            likelihood.mean_products([each.squares for each in scored]),
        )


class Scored:
    """The scores of an attribute's functions and their squares, computed once for the same rows of likelihoods."""

    def __init__(self, attribute: AttributeBasis) -> None:
        self._attribute = attribute
        self._likelihoods: FloatArray | None = None
        self._scores: FloatArray | None = None

    def scores(self, likelihoods: FloatArray) -> FloatArray:
        if self._scores is None or likelihoods is not self._likelihoods:
            self._likelihoods, self._scores = likelihoods, self._attribute.scores(likelihoods)
        return self._scores

    def squares(self, likelihoods: FloatArray) -> FloatArray:
        """Compute the square of each score."""
        return np.square(self.scores(likelihoods))


def _unshrunk_squares(attribute: AttributeBasis) -> Feature:
    return lambda likelihoods: attribute.unshrunk(likelihoods) ** 2


def transformed(array: FloatArray, matrices: Sequence[FloatArray]) -> FloatArray:
    """Multiply each axis by its matrix, shape (out, in)."""
    shape = tuple(len(matrix) for matrix in matrices)
    # Each product contracts the first axis and puts what comes of it behind all others. `tensordot` takes three times
    # as long for small arrays.
    for matrix in matrices:
        array = (matrix @ array.reshape(matrix.shape[1], -1)).T
    return array.reshape(shape)
