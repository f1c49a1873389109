"""The margins of attributes, from all that pairs say of them.

The sums of a pair's table over one attribute say how frequent the values of the other are, whatever the dependence.
Where there is little of it, the rest of the table says so too, since it is nearly the product of both margins. The
less alike in frequency the values of the other attribute are, the more it says. Dependence moves that, perhaps by the
same in all pairs, as where the most frequent values of all attributes go together: all attributes show how far, by
what both differ by beyond their noise (empirical Bayes). They are put together by inverse variance, in which this
counts as noise.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_ldp.mechanisms.simplex import on_simplex
from stream_ldp.views.strength import learnt, shown
from stream_ldp.views.tables import MarginalTables

#: Points of a line that a mean along it is taken over, and the standard errors to either side that they reach: so
#: many put the mean off by less than 0.05 standard errors.
_POINTS, _REACH = (np.arange(64) + 0.5) / 64, 6.0
#: Squares of an estimated move by dependence that are allowed for. With 1, seventeen binary attributes that are 0.05
#: from independent are up to 2 % farther off; with 3, six of 4 to 8 values are.
DOUBT = 2.0
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
    found = [Margin(margin, 0.0) for margin in first]
    others = _of_pairs(measured, known, first)
    if not others:
        return found
    noises = {place: 1 / information + 1 / known[place][1] for place, (_, information) in others.items()}
    moves = [shown(raw - known[place][0], 1 / noises[place], (first[place],)) for place, (raw, _) in others.items()]
    for place, square in zip(others, learnt(moves).square.tolist(), strict=True):
        (raw, information), (other, of_pairs) = known[place], others[place]
        moved = DOUBT * square * noises[place]
        weight = 1 / (1 / of_pairs + moved)
        total = information + weight
        found[place] = Margin(
            _shrunk((information * raw + weight * other) / total, total), (weight / total) ** 2 * moved
        )
    return found


def _of_pairs(
    measured: MarginalTables, known: Sequence[tuple[NDArray[np.float64], float]], first: Sequence[NDArray[np.float64]]
) -> dict[int, tuple[NDArray[np.float64], float]]:
    """Return what pairs say of attributes beyond their sums if they are independent, and its inverse variance.

    known, first: the distributions of all attributes as their sums show them, with inverse variances, and shrunk.
    """
    unlike = [margin - 1 / len(margin) for margin in first]
    norms = [float(each @ each) for each in unlike]
    found: dict[int, tuple[NDArray[np.float64], float]] = {}
    for one, other in [of for of in measured if len(of) == 2]:
        raw, information = measured[one, other]
        table = centred(raw)
        for place, by, rows in ((one, other, table), (other, one, table.T)):
            size = len(first[place])
            if norms[by] < _LEAST_UNLIKE or size < 2:
                continue
            # What the other margin is off by makes all differences too large or too small by the same part.
            scale = norms[place] / (size - 1) / known[by][1]
            weight = norms[by] / (1 / information + scale)
            before, total = found.get(place, (np.zeros(size), 0.0))
            step = weight / (total + weight)
            found[place] = before + step * (1 / size + rows @ unlike[by] / norms[by] - before), total + weight
    return found


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
    return uniform + float(weights @ points / weights.sum()) * unlike
