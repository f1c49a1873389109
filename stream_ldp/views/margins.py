"""The margins of attributes, from all that pairs say of them.

The sums of a pair's table over one attribute say how frequent the values of the other are, whatever the dependence.
Where there is little of it, the rest of the table says so too, since it is nearly the product of both margins. The
less alike in frequency the values of the other attribute are, the more it says. Both are put together by inverse
variance, in which the dependence counts as noise.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from stream_ldp.mechanisms.simplex import on_simplex
from stream_ldp.views.strength import learnt, shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from stream_ldp.views.tables import MarginalTables

#: Points of a line that a mean along it is taken over, and the standard errors to either side that they reach: so
#: many put the mean off by less than 0.05 standard errors.
_POINTS, _REACH = (np.arange(64) + 0.5) / 64, 6.0
#: What the part of a dependence along the other margin is taken for, in squares of the whole dependence: it may all
#: lie there, as where the most frequent values go together, and is then the same in all pairs. With 1, intervals of
#: two attributes, one of them decided by the other for 90 % of the users, cover .01 less.
DOUBT = 3.0
#: Least squared distance of a margin from uniform with which its pairs say more of the other attribute.
_LEAST_UNLIKE = 1e-9


class Margin(NamedTuple):
    """The distribution of an attribute.

    probability: shape (values,).
    hidden: expected square of what dependence may have moved a coefficient by.
    """

    probability: NDArray[np.float64]
    hidden: float


def margins_of(measured: MarginalTables, *, sizes: Sequence[int]) -> list[Margin]:
    """Return the distribution of each attribute; uniform where nobody has reported it.

    measured: attributes and pairs as views show them.
    sizes: number of values of each attribute.
    """
    known = [measured.get((place,), (np.full(size, 1 / size), 0.0)) for place, size in enumerate(sizes)]
    first = [_shrunk(raw, information) for raw, information in known]
    pairs = [of for of in measured if len(of) == 2]
    if not pairs:
        return [Margin(margin, 0.0) for margin in first]
    unlike = [margin - 1 / len(margin) for margin in first]
    norms = [float(each @ each) for each in unlike]
    tables = {of: centred(measured[of][0]) for of in pairs}
    products = {of: np.outer(unlike[of[0]], unlike[of[1]]) for of in pairs}
    found = [shown(tables[of] - products[of], measured[of][1], (first[of[0]], first[of[1]])) for of in pairs]
    squares = DOUBT * learnt(found).square * np.array([pair.freedom for pair in found])
    sums = [information * raw for raw, information in known]
    totals = [information for _, information in known]
    hidden = [0.0] * len(sizes)
    for (one, other), square in zip(pairs, squares.tolist(), strict=True):
        information = measured[one, other][1]
        for place, by, table in ((one, other, tables[one, other]), (other, one, tables[one, other].T)):
            if norms[by] < _LEAST_UNLIKE or sizes[place] < 2:
                continue
            # What the other margin is off by makes all differences too large or too small by the same part.
            scale = norms[place] / (sizes[place] - 1) / known[by][1]
            weight = norms[by] / ((1 + square) / information + scale)
            sums[place] = sums[place] + weight * (1 / sizes[place] + table @ unlike[by] / norms[by])
            totals[place] += weight
            hidden[place] += weight**2 * square / information / norms[by]
    return [
        Margin(_shrunk(total / information, information), off / information**2)
        if information
        else Margin(margin, 0.0)
        for margin, total, information, off in zip(first, sums, totals, hidden, strict=True)
    ]


def centred(table: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a table, along its last two axes, less the parts that its rows and its columns have alone."""
    found: NDArray[np.float64] = (
        table
        - table.mean(axis=-1, keepdims=True)
        - table.mean(axis=-2, keepdims=True)
        + table.mean(axis=(-2, -1), keepdims=True)
    )
    return found


def _shrunk(raw: NDArray[np.float64], information: float) -> NDArray[np.float64]:
    """Return the posterior mean, along the line through the uniform and the nearest distribution, of a flat prior.

    The line ends where a value has no users. So noise that is small beside the line moves nothing but what is near an
    end, and noise that is large leaves the uniform distribution.
    """
    uniform = 1 / len(raw)
    nearest = on_simplex(raw)
    unlike = nearest - uniform
    square = float(unlike @ unlike)
    if square < _LEAST_UNLIKE:
        return nearest
    first, last = -uniform / float(unlike.max()), -uniform / float(unlike.min())
    likeliest, error = float((raw - uniform) @ unlike) / square, 1 / math.sqrt(information * square)
    middle = min(max(likeliest, first), last)
    first, last = max(first, middle - _REACH * error), min(last, middle + _REACH * error)
    points = first + (last - first) * _POINTS
    weights = np.exp(-0.5 * (((points - likeliest) / error) ** 2 - ((middle - likeliest) / error) ** 2))
    found: NDArray[np.float64] = uniform + float(weights @ points / weights.sum()) * unlike
    return found
