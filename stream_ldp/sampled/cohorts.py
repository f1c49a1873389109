"""Cohorts: values are hashed before they are perturbed, by another hash in each cohort, so that clients need no list.

A cohort is a question: it is drawn whatever the data are, and a report says in the clear which one it is of. What is
answered is the bucket of the user's value, by k-RR (O-RR; Kairouz, Bonawitz and Ramage, 2016, section 4.1) or as a
one-hot code whose bits are perturbed (O-RAPPOR, section 4.3: RAPPOR with one hash and without its second noise;
Erlingsson, Pihur and Korolova, 2014). The server hashes candidates, and solves for their frequencies.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from stream_ldp.errors import ParameterError
from stream_ldp.mechanisms import DirectResponse, FrequencyOracle, UnaryResponse
from stream_ldp.mechanisms.hashing import bucket_of
from stream_ldp.sampled.questions import Question

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from stream_ldp.mechanisms import Entropy
    from stream_ldp.sampled.questions import Table

__all__ = [
    "COHORTS",
    "COHORT_ORACLES",
    "MAX_COHORTS",
    "BucketQuestion",
    "cohort_oracle",
    "covariance",
    "equations",
    "require_told_apart",
    "solve_cohorts",
]

#: The oracles of buckets, by the name in a collection file.
COHORT_ORACLES = ("o-rr", "o-rappor")

#: Cohorts of an attribute where the file does not say.
COHORTS = 64

#: Most cohorts of an attribute: each has sums of its own.
MAX_COHORTS = 2**12

#: Most buckets of k-RR, and those of a one-hot code, whose error does not depend on their number.
_MOST_BUCKETS = 256
_BITS = 32


@dataclass(frozen=True, kw_only=True)
class BucketQuestion(Question):
    """The question into which bucket of a cohort the user's value falls.

    randomizer: a frequency oracle of the buckets.
    cohort: its number, from 0.
    """

    randomizer: FrequencyOracle
    cohort: int

    def inputs(self, table: Table, *, entropy: Entropy) -> NDArray[np.int64]:  # noqa: ARG002
        """See `Question.inputs`: the buckets of the values."""
        column, buckets = table[str(self.of[0])], self.randomizer.size
        if column.dtype.kind == "i":
            held: NDArray[np.int64] = self._buckets_of_labels[column]
            return held
        return np.array([bucket_of(value, cohort=self.cohort, buckets=buckets) for value in column], dtype=np.int64)

    @property
    def title(self) -> str:
        """See `Question.title`: the same for all cohorts."""
        return f"{self.randomizer.title} of {self.randomizer.size} buckets in cohorts"

    @property
    def meaning(self) -> list[Any]:
        """See `Question.meaning`; the cohort is part of it."""
        return [*super().meaning, self.cohort]

    @cached_property
    def _buckets_of_labels(self) -> NDArray[np.int64]:
        (attribute,) = self.attributes
        buckets = [bucket_of(value, cohort=self.cohort, buckets=self.randomizer.size) for value in attribute.labels]
        return np.array(buckets, dtype=np.int64)


def cohort_oracle(name: str, *, epsilon: float) -> FrequencyOracle:
    """Return the oracle of the buckets of a cohort.

    O-RR has about e^epsilon + 1 buckets, as optimised local hashing (Wang, Blocki, Li and Jha, 2017, section 4.4).

    Raises:
        ParameterError: the epsilon is beyond the resolution of probabilities.
    """
    if name == "o-rappor":
        return UnaryResponse(size=_BITS, epsilon=epsilon)
    buckets = min(max(2, round(math.exp(min(epsilon, math.log(_MOST_BUCKETS))) + 1)), _MOST_BUCKETS)
    return DirectResponse(size=buckets, epsilon=epsilon)


def equations(questions: Sequence[BucketQuestion], candidates: Sequence[str], *, others: bool) -> NDArray[np.float64]:
    """Return the share of the users with each candidate that falls into each bucket of each cohort.

    others: whether there are users with none of the candidates, who are taken to fall into all buckets alike.

    Returns:
        float64, shape (cohorts, buckets, candidates), or with one more column for the others.
    """
    buckets = questions[0].randomizer.size
    found = np.zeros((len(questions), buckets, len(candidates) + others))
    for row, question in zip(found, questions, strict=True):
        places = [bucket_of(value, cohort=question.cohort, buckets=buckets) for value in candidates]
        row[places, np.arange(len(candidates))] = 1
        if others:
            row[:, -1] = 1 / buckets
    return found


def require_told_apart(questions: Sequence[BucketQuestion], candidates: Sequence[str], *, others: bool) -> None:
    """Check that the cohorts tell all candidates apart.

    Raises:
        ParameterError: they do not; the message says what would.
    """
    design = equations(questions, candidates, others=others)
    rows = design.reshape(-1, design.shape[2])
    unknowns = design.shape[2]
    # k-RR gives one equation less for each cohort but one, since the shares of its buckets sum to 1.
    most = len(questions) * (questions[0].randomizer.size - 1) + 1
    if unknowns > most or np.linalg.matrix_rank(rows.T @ rows, hermitian=True) < unknowns:
        raise ParameterError(
            f"{len(candidates):,} candidates cannot be told apart by {len(questions):,} cohorts of "
            f"{questions[0].randomizer.size} buckets, at most about {most // 2:,}: give more `cohorts`, up to "
            f"{MAX_COHORTS:,}, or fewer candidates"
        )


def covariance(shares: NDArray[np.float64], oracle: FrequencyOracle, *, reports: float) -> NDArray[np.float64]:
    """Return the covariance of the estimated shares of the buckets of one cohort, shape (buckets, buckets).

    shares: the shares themselves, float64, shape (buckets,).
    """
    p, q = oracle.support
    supported = np.clip(q + shares * (p - q), 0.0, 1.0)
    if isinstance(oracle, DirectResponse):
        # One bucket is named: multinomial.
        both = -np.outer(supported, supported)
    else:
        # The bits are perturbed independently, and no two true ones are set.
        both = -np.outer(shares, shares) * (p - q) ** 2
    np.fill_diagonal(both, supported * (1 - supported))
    scaled: NDArray[np.float64] = both / ((p - q) ** 2 * reports)
    return scaled


def solve_cohorts(
    design: NDArray[np.float64],
    estimates: NDArray[np.float64],
    oracle: FrequencyOracle,
    *,
    reports: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Estimate the unknown frequencies by weighted least squares, without bias, and their standard errors.

    The weights are the inverse variances of the shares that a first solution expects, not of those observed: weights
    that depend on the noise would bias the estimate. The errors follow from the covariance of all shares.

    design: as `equations` makes it.
    estimates: estimated shares of the buckets, shape (cohorts, buckets).
    reports: of each cohort, each above 0, shape (cohorts,).

    Returns:
        The frequencies and their standard errors, each of shape (unknowns,).
    """
    rows = design.reshape(-1, design.shape[2])
    weights = np.repeat(reports, design.shape[1])
    first = _solution(rows, weights) @ estimates.reshape(-1)
    expected = np.clip(design @ first, 0.0, 1.0)
    covariances = [
        covariance(shares, oracle, reports=count) for shares, count in zip(expected, reports.tolist(), strict=True)
    ]
    weights = 1 / np.maximum(np.concatenate([each.diagonal() for each in covariances]), 1e-12)
    solution = _solution(rows, weights)
    parts = np.split(solution, len(design), axis=1)
    variance = sum(((part @ each) * part).sum(axis=1) for part, each in zip(parts, covariances, strict=True))
    return solution @ estimates.reshape(-1), np.sqrt(np.maximum(variance, 0.0))


def _solution(rows: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the matrix that takes observations to the weighted least squares solution."""
    weighted = rows * weights[:, None]
    # The matrix is singular where too few cohorts have answers.
    inverse = np.linalg.pinv(rows.T @ weighted, rcond=1e-12, hermitian=True)
    return np.asarray(inverse @ weighted.T, dtype=np.float64)
