"""One hidden factor that makes all pairs of attributes dependent.

Let the attributes depend on each other only through a hidden quantity of the user, each by a linear function of it.
The coefficients of a pair (basis.py) are then the products of each attribute's part of the factor,

    d_kl = a_k a_l    for function k of one attribute and l of another,

so that many pairs, although each is mostly noise, are evidence of few loadings a. With N reports, u_kl / lambda_kl
estimates d_kl with precision N lambda_kl. The loadings are normal with mean 0 and one variance, which is learnt.
Independent normal distributions are taken for their posterior (variational Bayes; Bishop, 2006, section 10.1). This
gives a lower bound of the evidence, to hold against that of pairs which have nothing to do with each other.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple, Self

import numpy as np

from stream_ldp.records.estimators.patterns import FloatArray

#: Most rounds over all attributes: the bound has stopped rising by then.
_ROUNDS = 60
#: Loadings that move by less in a round, in units of an attribute's standard deviation, have come to rest.
_STILL = 1e-15
#: Variance of the loadings to begin with, and their least: at 0 they would stay there.
_VARIANCE, _LEAST = 0.3, 1e-6
#: Variance of each loading's posterior to begin with.
_UNSURE = 0.01


class Factor(NamedTuple):
    """A factor that is learnt from reports.

    loadings: mean of a for each attribute, shape (its functions but the constant,).
    evidence: lower bound of the log marginal likelihood over that without dependence, nats.
    """

    loadings: tuple[FloatArray, ...]
    evidence: float

    @classmethod
    def learn(
        cls, estimates: Mapping[tuple[int, int], FloatArray], precisions: Mapping[tuple[int, int], FloatArray]
    ) -> Self:
        """Learn it from all pairs of at least three attributes.

        estimates: u / lambda of each pair i < j, shape (functions of i but the constant, those of j).
        precisions: N lambda, same shapes.
        """
        attributes = 1 + max(j for _, j in estimates)
        sizes = [len(estimates[0, 1]), *(estimates[0, j].shape[1] for j in range(1, attributes))]
        parts = _parts(sizes)
        found, weight = np.zeros((2, sum(sizes), sum(sizes)))
        for (i, j), estimate in estimates.items():
            found[parts[i], parts[j]], weight[parts[i], parts[j]] = estimate, precisions[i, j]
        return cls.of(found + found.T, weight + weight.T, sizes=sizes)

    @classmethod
    def of(cls, found: FloatArray, weight: FloatArray, *, sizes: Sequence[int]) -> Self:
        """Learn it from all pairs at once; see `learn`.

        found: u / lambda of each two functions but the constants, those of all attributes one after another, shape
            (functions, functions). Symmetric; what is of one attribute does not matter.
        weight: N lambda, same shape; 0 for two functions of one attribute.
        sizes: number of functions of each attribute.
        """
        parts = _parts(sizes)
        found = np.where(weight > 0.0, found, 0.0)
        weighted = weight * found

        values, vectors = np.linalg.eigh(found * np.sqrt(weight / weight.max()))
        mean = vectors[:, -1] * np.sqrt(max(float(values[-1]), _LEAST))
        unsure, variance = np.full(len(mean), _UNSURE), _VARIANCE
        square = mean**2 + unsure
        rows = [(part, weight[part], weighted[part]) for part in parts]
        for _ in range(_ROUNDS):
            before = mean.copy()
            for part, weight_of, weighted_of in rows:
                unsure[part] = own_unsure = 1.0 / (1.0 / variance + weight_of @ square)
                mean[part] = own = own_unsure * (weighted_of @ mean)
                square[part] = own * own + own_unsure
            variance = max(float(square.mean()), _LEAST)
            if float(np.abs(mean - before).max()) <= _STILL:
                break
        fit = 0.5 * float(mean @ weighted @ mean) - 0.25 * float(square @ weight @ square)
        cost = 0.5 * float(np.sum(square / variance - 1.0 - np.log(unsure / variance)))
        return cls(tuple(mean[part] for part in parts), fit - cost)


def _parts(sizes: Sequence[int]) -> list[slice]:
    ends = np.cumsum([0, *sizes])
    return [slice(begin, end) for begin, end in pairwise(ends.tolist())]
