"""What records are made from: the estimated distributions of attributes and pairs, and all that follow from them."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from stream_ldp.views.fitting import Fit, proportional_fit, with_margins
from stream_ldp.views.independence import dependence


class MarginalModel(Protocol):
    """Estimated distributions of attributes, which agree on what they share.

    sizes: number of values of each attribute.
    p_values: of the pairs of attributes that somebody has reported, at ascending positions: the chance, or a bound of
        it, that two independent attributes look as dependent.
    """

    @property
    def sizes(self) -> tuple[int, ...]: ...

    @property
    def p_values(self) -> Mapping[tuple[int, int], float]: ...

    def margin(self, place: int) -> NDArray[np.float64]:
        """Return the distribution of an attribute, shape (values,)."""
        ...

    def joint(self, of: tuple[int, ...]) -> NDArray[np.float64]:
        """Return the joint distribution of some attributes, at ascending positions."""
        ...


@dataclass(frozen=True, kw_only=True)
class ViewMarginals:
    """The distributions that users have reported in views."""

    fit: Fit

    @property
    def sizes(self) -> tuple[int, ...]:
        return self.fit.sizes

    @property
    def p_values(self) -> Mapping[tuple[int, int], float]:
        # Not imported above: a program that only reads a collection solves nothing, and need not wait for SciPy.
        from scipy.special import chdtrc  # noqa: PLC0415

        shown = {of: dependence(self.fit, of=of) for of in self.fit.pairs}
        return {of: float(chdtrc(each.freedom, each.statistic)) for of, each in shown.items()}

    def margin(self, place: int) -> NDArray[np.float64]:
        return self.fit.margin(place)

    def joint(self, of: tuple[int, ...]) -> NDArray[np.float64]:
        """See `MarginalModel.joint`: that of the most entropy with the pairs."""
        return self.fit.joint(of).probability


@dataclass(frozen=True, kw_only=True)
class PairMarginals:
    """The distributions that an estimator has found for every attribute and every pair.

    attributes: of each attribute, shape (values,).
    pairs: of all pairs at ascending positions, an axis for each attribute; they need not agree on their margins.
    p_values: see `MarginalModel`.
    direct: estimates a joint distribution of three or more attributes from the reports, as LoPub does; None to take
        that of the most entropy with the pairs.
    """

    attributes: Sequence[NDArray[np.float64]]
    pairs: Mapping[tuple[int, int], NDArray[np.float64]]
    p_values: Mapping[tuple[int, int], float]
    direct: Callable[[tuple[int, ...]], NDArray[np.float64]] | None = None
    _fitted: dict[tuple[int, int], NDArray[np.float64]] = field(init=False, default_factory=dict)

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(len(attribute) for attribute in self.attributes)

    def margin(self, place: int) -> NDArray[np.float64]:
        return self.attributes[place]

    def joint(self, of: tuple[int, ...]) -> NDArray[np.float64]:
        if len(of) > 2 and self.direct is not None:
            return self.direct(of)
        start = np.ones(())
        for place in of:
            start = np.multiply.outer(start, self.margin(place))
        axes = list(combinations(range(len(of)), 2))
        return proportional_fit(start, [((one, other), self._pair(of[one], of[other])) for one, other in axes])[0]

    def _pair(self, first: int, second: int) -> NDArray[np.float64]:
        """Return the joint distribution of two attributes with their margins; pairs that disagree fit no joint."""
        if (first, second) not in self._fitted:
            fitted = with_margins(self.pairs[first, second], self.margin(first), self.margin(second))
            self._fitted[first, second] = fitted
        return self._fitted[first, second]


def least_p_value(p_value: float, *, statistic: float) -> float:
    """Return the least p-value that is sure of a test of independence; see `Independence` of the estimators.

    The statistic is twice the log of a ratio r of marginal likelihoods, and chance makes it so large with at most
    1 / r (Markov's inequality). A simulated p-value cannot be as small.
    """
    return min(p_value, math.exp(-statistic / 2))
