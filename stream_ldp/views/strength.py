"""How strong the dependence of each pair of attributes is, learnt from all pairs.

The dependence of one pair is mostly noise, and looks stronger than it is. All pairs together show how much: the mean
squares of their dependences are taken to come from one distribution, a mixture of independence and of some strengths,
whose weights are the likeliest ones (empirical Bayes; Robbins, 1956). So pairs of attributes that hardly ever depend
on each other are shrunk to independence, and strong ones among strong ones are left as they are.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

#: Strengths of the mixture: squares of a measure of association that is 0 of independent attributes and 1 of two
#: uniform ones that copy each other (the square of Tschuprow's T, with values weighted as they are frequent).
_STRENGTHS = np.concatenate([[0.0], np.geomspace(1e-5, 1.0, 16)])
#: The prior of the weights: as many pairs as there are, but at most so many, and this part of them independent. With
#: 8 of three, these are up to 6 % farther off where they are 0.05 to 0.15 from independent; with 2 of ten, chance is
#: believed in so many windows that independent ones are up to 9 % farther off.
_PAIRS_BEFORE, _INDEPENDENT = 8.0, 0.8
#: EM steps to the weights: the likelihood is flat at its top, and what further steps add changes no mean.
_STEPS = 60


class Strength(NamedTuple):
    """What is known of the dependences of pairs, given the estimates of all, each of shape (pairs,).

    kept: the part of an estimate that is no noise, in [0, 1].
    square: expected mean square of a coefficient, in units of its noise.
    variance: of a coefficient about the part that is kept of its estimate, in the same units.
    """

    kept: NDArray[np.float64]
    square: NDArray[np.float64]
    variance: NDArray[np.float64]


class Shown(NamedTuple):
    """What one pair shows.

    statistic: the squared norm of its dependence in units of the noise of a coefficient: about chi-square with
        `freedom` degrees of freedom if the attributes are independent.
    strongest: mean square of a coefficient, in units of its noise, where the strength is 1.
    """

    statistic: float
    freedom: int
    strongest: float


def shown(
    dependence: NDArray[np.float64],
    information: float,
    margins: Sequence[NDArray[np.float64]],
) -> Shown:
    """Measure an estimated dependence, or what it has moved a margin by.

    dependence: table whose rows and columns sum to 0, or vector that does.
    information: inverse variance of a coefficient.
    margins: distribution of the attribute along each axis.
    """
    freedom = math.prod(len(margin) - 1 for margin in margins)
    spread = math.prod(1 - float(margin @ margin) for margin in margins)
    return Shown(
        statistic=information * float((dependence**2).sum()),
        freedom=freedom,
        strongest=information * spread / max(freedom, 1) ** 1.5,
    )


def learnt(pairs: Sequence[Shown]) -> Strength:
    """Learn the strengths of all pairs, at least one, and what is known of each given its estimate and all."""
    statistic, freedom, strongest = (np.array(each, dtype=np.float64)[:, None] for each in zip(*pairs, strict=True))
    squares = strongest * _STRENGTHS
    # The norm of normal coefficients, each with a variance of 1 + square.
    likelihood = -0.5 * (statistic / (1 + squares) + freedom * np.log1p(squares))
    likelihood = np.exp(likelihood - likelihood.max(axis=1, keepdims=True))
    before = np.full(len(_STRENGTHS), (1 - _INDEPENDENT) / (len(_STRENGTHS) - 1))
    before[0] = _INDEPENDENT
    weights = before
    counted = min(_PAIRS_BEFORE, len(pairs)) * before
    for _ in range(_STEPS):
        posterior = likelihood * weights
        posterior /= posterior.sum(axis=1, keepdims=True)
        weights = (counted + posterior.sum(axis=0)) / (counted.sum() + len(pairs))
    shown_square = statistic / np.maximum(freedom, 1)
    parts = squares / (1 + squares)
    kept = (posterior * parts).sum(axis=1, keepdims=True)
    square = (posterior * (parts + parts**2 * shown_square)).sum(axis=1, keepdims=True)
    return Strength(kept[:, 0], square[:, 0], np.maximum(square - kept**2 * shown_square, 0.0)[:, 0])
