"""Factors: what the dependences of all pairs of attributes have in common.

Attributes may depend on each other because all depend on a few hidden quantities, such as how ill a user is. The
dependences of all pairs are then those of a few factors: a positive semidefinite matrix of low rank, with a block for
each pair. A fit of such a matrix has far fewer unknowns than the pairs have cells, and so far less noise.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

#: Most values of all attributes together for which factors are looked for: with as many, it takes seconds.
MAX_VALUES = 500

#: The edge of the noise's eigenvalues, in units of its limit for many values: of a dozen, the largest is on average a
#: tenth below it. With 1, weak factors that a dozen attributes or those of NLTCS have are lost in up to half of the
#: windows, which costs 2 to 6 %; with 0.95, independent attributes are up to 3 % farther off.
_EDGE = 0.97
#: Most steps of the fit, and the relative change at which it ends.
_STEPS, _CHANGE = 30, 1e-4
#: Least mean of p (1 - p) over the values of an attribute, so that an attribute of one value does not outweigh all.
_MIN_SPREAD = 1e-3


@dataclass(frozen=True, kw_only=True)
class Factors:
    """The dependences of pairs as factors make them.

    rank: number of factors that stand out of the noise.
    dependences: float64, by the ascending positions of the attributes; empty without factors.
    share: number of unknowns of the factors, for each that the pairs have: the part of the noise that they pass on.
    """

    rank: int
    dependences: Mapping[tuple[int, ...], NDArray[np.float64]]
    share: float


def factors_of(
    dependences: Mapping[tuple[int, ...], tuple[NDArray[np.float64], float]], margins: Sequence[NDArray[np.float64]]
) -> Factors:
    """Fit a positive semidefinite matrix of low rank to the dependences of pairs.

    Pairs that are missing, and the blocks of each attribute with itself, are filled in by the fit before (Srebro and
    Jaakkola, 2003). Of the eigenvalues, those above the edge of the noise's count, each less what noise adds to it:
    sqrt(l^2 - e^2) for an eigenvalue l and the edge e (Gavish and Donoho, 2017).

    dependences: by ascending positions, a table whose rows and columns sum to 0, and the inverse variance of a
        contrast of the table that it was made of.
    margins: distribution of each attribute.
    """
    ends = np.cumsum([0, *map(len, margins)])
    values = int(ends[-1])
    unknowns = sum((len(margins[i]) - 1) * (len(margins[j]) - 1) for i, j in dependences)
    nothing = Factors(rank=0, dependences={}, share=0.0)
    if values > MAX_VALUES or len(dependences) <= len(margins):
        return nothing
    blocks = [slice(start, end) for start, end in pairwise(ends.tolist())]
    scales = [1 / math.sqrt(max(float((margin * (1 - margin)).mean()), _MIN_SPREAD)) for margin in margins]
    observed, precision = np.zeros((values, values)), np.zeros((values, values))
    for (i, j), (table, information) in dependences.items():
        scale = scales[i] * scales[j]
        observed[blocks[i], blocks[j]] = scale * table
        precision[blocks[i], blocks[j]] = information / scale**2
    observed, precision = observed + observed.T, precision + precision.T
    weights = precision / precision.max()
    # The variance of a coefficient after weighting is weight^2 / precision; r values have r - 1 coefficients.
    coefficients = np.concatenate([np.full(len(margin), 1 - 1 / len(margin)) for margin in margins])
    edge = 2 * _EDGE * math.sqrt(float((weights / precision.max() @ coefficients).max()))
    fitted, rank = np.zeros_like(observed), 0
    for _ in range(_STEPS):
        found, vectors = np.linalg.eigh(fitted + weights * (observed - fitted))
        found, vectors = found[found > edge], vectors[:, found > edge]
        rank = len(found)
        before, fitted = fitted, (vectors * np.sqrt(found**2 - edge**2)) @ vectors.T
        if np.linalg.norm(fitted - before) <= _CHANGE * np.linalg.norm(fitted):
            break
    if not rank:
        return nothing
    free_values = values - len(margins)
    return Factors(
        rank=rank,
        dependences={(i, j): fitted[blocks[i], blocks[j]] / (scales[i] * scales[j]) for i, j in dependences},
        share=min(1.0, (rank * free_values - rank * (rank - 1) / 2) / unknowns),
    )
