"""Estimates of one attribute from the sums of the answers about it, and their parts of an answer."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import compress
from typing import TYPE_CHECKING, Protocol

import numpy as np

from stream_ldp.errors import ParameterError
from stream_ldp.marginals.answer import Distribution, Frequencies, Mean, Numbers, Outputs, Quantile

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from stream_ldp.marginals.distribution import FittedDistribution
    from stream_ldp.questions.attributes import AskedAttribute


class AttributeEstimate(Protocol):
    """What the answers about an attribute say."""

    @property
    def distribution(self) -> FittedDistribution | None:
        """The distribution of a number; None where the answers show none."""
        ...

    def message(self, attribute: AskedAttribute) -> Frequencies | Numbers | Outputs:
        """Return it as a part of an answer."""
        ...

    def errors(self, truth: NDArray[np.float64]) -> tuple[float, float]:
        """Return the mean squared error of the raw estimates, and the distance of the projected ones from the truth.

        truth: frequencies of the values, shape (values,), or the mean in units in which the range is from -1 to 1,
            shape (1,).

        Raises:
            ParameterError: nothing of this is estimated.
        """
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class FrequencyEstimate:
    """The frequencies of the values of an attribute, each float64 of shape (values,).

    raw: unbiased.
    standard_error: of each, with the sampling of users.
    projected: the likeliest distribution; see `likely_distribution`.
    others: the share of users without any of the candidates, projected; None where values are in a list.
    kept: whether each has an estimate, bool; where there are more candidates than can be distinguished, those that do
        not stand out have none, and numbers of 0.
    """

    raw: NDArray[np.float64]
    standard_error: NDArray[np.float64]
    projected: NDArray[np.float64]
    kept: NDArray[np.bool_]
    others: float | None = None
    distribution: None = None

    def message(self, attribute: AskedAttribute) -> Frequencies:
        return Frequencies(
            values=tuple(compress(attribute.labels, self.kept)),
            raw=tuple(self.raw[self.kept].tolist()),
            standard_error=tuple(self.standard_error[self.kept].tolist()),
            projected=tuple(self.projected[self.kept].tolist()),
            others=self.others,
            dropped=tuple(compress(attribute.labels, ~self.kept)),
        )

    def errors(self, truth: NDArray[np.float64]) -> tuple[float, float]:
        """See `AttributeEstimate.errors`: the distance is half the sum of |projected - true| frequencies."""
        return float(((self.raw - truth) ** 2).mean()), 0.5 * float(np.abs(self.projected - truth).sum())


@dataclass(frozen=True, kw_only=True)
class NumberEstimate:
    """The mean of an attribute in units in which its range is from -1 to 1.

    raw: unbiased.
    standard_error: of it, with the sampling of users.
    fit: fits the distribution over the points of a grid; returns None if the answers show a mean only.
    """

    raw: float
    standard_error: float
    fit: Callable[[], FittedDistribution | None]

    @cached_property
    def distribution(self) -> FittedDistribution | None:
        """The distribution, which is fitted where it is first asked for."""
        return self.fit()

    def message(self, attribute: AskedAttribute) -> Numbers:
        """See `AttributeEstimate.message`: in units of the attribute."""
        least, largest = attribute.bounds
        half = (largest - least) / 2
        raw = least + (self.raw + 1) * half
        distribution = None if self.distribution is None else Distribution.of(self.distribution, attribute.bounds)
        return Numbers(
            range=attribute.bounds,
            mean=Mean(raw=raw, standard_error=self.standard_error * half, projected=min(max(raw, least), largest)),
            distribution=distribution,
            quantiles=()
            if distribution is None
            else tuple(Quantile.of(distribution.curve, each) for each in attribute.quantiles),
        )

    def errors(self, truth: NDArray[np.float64]) -> tuple[float, float]:
        """See `AttributeEstimate.errors`: the distance is the absolute error of the mean, held to its range."""
        (mean,) = truth.tolist()
        return (self.raw - mean) ** 2, abs(min(max(self.raw, -1.0), 1.0) - mean)


@dataclass(frozen=True, kw_only=True, slots=True)
class OutputEstimate:
    """The shares of the outputs of a channel from which no frequencies follow.

    rank: of the channel.
    shares: float64, shape (outputs,).
    standard_error: of each, with the sampling of users.
    """

    rank: int
    shares: NDArray[np.float64]
    standard_error: NDArray[np.float64]
    distribution: None = None

    def message(self, attribute: AskedAttribute) -> Outputs:
        return Outputs(
            values=attribute.labels,
            rank=self.rank,
            share=tuple(self.shares.tolist()),
            standard_error=tuple(self.standard_error.tolist()),
        )

    def errors(self, truth: NDArray[np.float64]) -> tuple[float, float]:
        """See `AttributeEstimate.errors`: there are none."""
        raise ParameterError(f"the frequencies of {len(truth)} values do not follow from outputs of rank {self.rank}")
