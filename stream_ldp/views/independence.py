"""The test of independence: a Wald statistic of the dependence that views show of each pair (Wald, 1943).

The dependence of a pair is the difference between its table and the product of its margins, in orthonormal contrasts
of the values (Helmert's). Where values are not all as frequent, its coefficients differ in variance and go together:
so do the cells of the table, and the margins have noise of their own, which matters more the farther they are from
uniform. With one variance for all, 6 x 8 independent values, one with four fifths of the users, are found dependent
in half of the windows.
"""

from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_ldp.mechanisms.simplex import on_simplex
from stream_ldp.views.fitting import Fit
from stream_ldp.views.tables import Told


class Dependence(NamedTuple):
    """What pairs of attributes show of dependence.

    statistic: about chi-square with `freedom` degrees of freedom if all attributes are independent.
    """

    statistic: float
    freedom: int


def dependence(fit: Fit, *, of: Iterable[int]) -> Dependence:
    """Add up the statistics of all pairs of some attributes that somebody has reported.

    Their noise is nearly independent, since hardly any user reports two of them.
    """
    statistic, freedom = 0.0, 0
    for pair in combinations(sorted(of), 2):
        if pair in fit.measured:
            found = _dependence(fit, pair)
            # With previous windows, the noise is less.
            covariance = _covariance(fit, pair) * _alone(fit.tables, pair) / fit.information(pair)
            statistic += float(found @ np.linalg.solve(covariance, found))
            freedom += len(found)
    return Dependence(statistic, freedom)


def contrasts(size: int) -> NDArray[np.float64]:
    """Return orthonormal contrasts of so many values, shape (size - 1, size)."""
    # Not imported above: a program that only reads a collection solves nothing, and need not wait for SciPy.
    from scipy.linalg import helmert  # noqa: PLC0415

    return np.asarray(helmert(size), dtype=np.float64)


def _dependence(fit: Fit, pair: tuple[int, int]) -> NDArray[np.float64]:
    """Return the coefficients of a pair's dependence, without bias, shape (coefficients,)."""
    table, _ = fit.measured[pair]
    rows, columns = (fit.measured[place,][0] for place in pair)
    left, right = (contrasts(size) for size in table.shape)
    return np.asarray(left @ (table - np.outer(rows, columns)) @ right.T).ravel()


def _alone(tables: Sequence[Told], pair: tuple[int, int]) -> float:
    """Return the inverse variance of a contrast of a pair in the tables, without previous windows."""
    return sum(table.marginal(pair)[1] for table in tables if set(pair) <= set(table.of))


def _covariance(fit: Fit, pair: tuple[int, int]) -> NDArray[np.float64]:
    """Return the covariance of the coefficients in the tables if the attributes are independent.

    To first order, a coefficient is a sum over the tables of contrasts of their cells, less those of their margins
    with the other attribute's distribution. To second order, it has the product of the noise of both margins.
    """
    tables = fit.tables
    first, second = (on_simplex(fit.measured[place,][0]) for place in pair)
    left, right = contrasts(len(first)), contrasts(len(second))
    product = np.outer(first, second).ravel()
    of_rows = np.kron(left, np.outer(right @ second, np.ones(len(second))))
    of_columns = np.kron(np.outer(left @ first, np.ones(len(first))), right)
    found = np.zeros((len(left) * len(right), len(left) * len(right)))
    for table in tables:
        row, column, both = (_weight(tables, table, of) for of in ((pair[0],), (pair[1],), pair))
        if row and column:
            measured = both * np.kron(left, right) - row * of_rows - column * of_columns
            found += measured @ table.covariance(product) @ measured.T
        elif row:
            measured = row * np.kron(left, (right @ second)[:, None])
            found += measured @ table.covariance(first) @ measured.T
        elif column:
            measured = column * np.kron((left @ first)[:, None], right)
            found += measured @ table.covariance(second) @ measured.T
    noise_left = left @ _of_margin(tables, pair[0], first) @ left.T
    noise_right = right @ _of_margin(tables, pair[1], second) @ right.T
    return found + np.kron(noise_left, noise_right)


def _of_margin(tables: Sequence[Told], place: int, margin: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the covariance of the margin of an attribute that the tables show together, shape (values, values)."""
    found = np.zeros((len(margin), len(margin)))
    for table in tables:
        weight = _weight(tables, table, (place,))
        if weight:
            found += weight**2 * table.covariance(margin)
    return found


def _weight(tables: Sequence[Told], table: Told, of: tuple[int, ...]) -> float:
    """Return the weight of a table in the marginal of some attributes that all show together, see `combined`."""
    if not set(of) <= set(table.of):
        return 0.0
    return table.marginal(of)[1] / sum(each.marginal(of)[1] for each in tables if set(of) <= set(each.of))
