"""Candidates: their frequencies from the buckets of cohorts, by least squares or, where they are too many, by LASSO.

The answers of each cohort estimate the shares of its buckets, and each share is the sum of the frequencies of the
candidates that fall into the bucket. Where these equations do not determine all frequencies, most candidates are
taken to be rare (Erlingsson, Pihur and Korolova, 2014, section 4): LASSO selects some, least squares estimates those,
and the others are left without an estimate.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from stream_ldp.errors import ParameterError
from stream_ldp.mechanisms import BucketOracle
from stream_ldp.mechanisms.oracle_spec import MAX_COHORTS

#: Most numbers in the equations: 256 MiB.
MAX_ENTRIES = 2**25

#: Probability that any candidate that nobody has is kept (Bonferroni's bound).
_FAMILY_ERROR = 0.05

#: What the penalty of LASSO is relative to the largest correlation with noise alone, sqrt(2 ln candidates) standard
#: deviations: it shrinks estimates by as much, and the test after the refit drops what it lets through.
_PENALTY = 0.5

#: Weight of the others beside a candidate in LASSO, so that their share is hardly shrunk.
_OTHERS_WEIGHT = 1e3


class Cohort(Protocol):
    """Users whose values are hashed alike before they are perturbed.

    randomizer: perturbs the bucket, or the buckets of several hashes.
    hashes: number of hashes of a value.
    """

    @property
    def randomizer(self) -> BucketOracle: ...

    @property
    def hashes(self) -> int: ...

    def buckets_of(self, value: str) -> list[int]:
        """Return the bucket of a value by each hash."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class CandidateEstimate:
    """The frequencies of candidates and of the others, if there are any, each of shape (unknowns,).

    raw, standard_error: 0 where there is no estimate.
    kept: whether there is one.
    """

    raw: NDArray[np.float64]
    standard_error: NDArray[np.float64]
    kept: NDArray[np.bool_]


def equations(questions: Sequence[Cohort], candidates: Sequence[str], *, others: bool) -> NDArray[np.float64]:
    """Return the share of the users with each candidate that falls into each bucket of each cohort.

    others: whether there are users without any of the candidates, who are assumed to fall into all buckets equally. A
        user falls into a bucket by any of the hashes.

    Returns:
        float64, shape (cohorts, buckets, candidates), or with one more column for the others.
    """
    buckets = questions[0].randomizer.size
    found = np.zeros((len(questions), buckets, len(candidates) + others))
    for row, question in zip(found, questions, strict=True):
        for column, value in enumerate(candidates):
            row[question.buckets_of(value), column] = 1
        if others:
            row[:, -1] = 1 - (1 - 1 / buckets) ** question.hashes
    return found


def are_identifiable(design: NDArray[np.float64]) -> bool:
    """Decide whether the equations determine all frequencies."""
    cohorts, buckets, unknowns = design.shape
    if not unknowns:
        return True
    rows = design.reshape(-1, unknowns)
    if unknowns > cohorts * buckets:
        return False
    return bool(np.linalg.matrix_rank(rows.T @ rows, hermitian=True) == unknowns)


def require_identifiable(questions: Sequence[Cohort], values: Sequence[str]) -> None:
    """Check that the cohorts determine the frequencies of all values of a list.

    Raises:
        ParameterError: they do not; the message says what would.
    """
    if not are_identifiable(equations(questions, values, others=False)):
        raise _too_many(questions, values, most=len(questions) * (questions[0].randomizer.size - 1) // 2)


def require_distinguishable(questions: Sequence[Cohort], candidates: Sequence[str]) -> None:
    """Check that no two candidates share their buckets in all cohorts, and that the equations fit into memory.

    Raises:
        ParameterError: they do, or the equations do not; the message says what would.
    """
    rows = len(questions) * questions[0].randomizer.size
    if rows * (len(candidates) + 1) > MAX_ENTRIES:
        raise _too_many(questions, candidates, most=MAX_ENTRIES // rows - 1)
    design = equations(questions, candidates, others=False).reshape(rows, -1)
    if len(np.unique(design.astype(np.bool_), axis=1).T) < len(candidates):
        raise _too_many(questions, candidates, most=questions[0].randomizer.size ** len(questions))


def _too_many(questions: Sequence[Cohort], candidates: Sequence[str], *, most: int) -> ParameterError:
    return ParameterError(
        f"{len(candidates):,} candidates cannot be distinguished by {len(questions):,} cohorts of "
        f"{questions[0].randomizer.size} buckets, at most about {most:,}: give more `cohorts`, up to "
        f"{MAX_COHORTS:,}, or fewer candidates"
    )


def covariance(joint: NDArray[np.float64], oracle: BucketOracle, *, reports: float) -> NDArray[np.float64]:
    """Return the covariance of the estimated shares of the buckets of one cohort, shape (buckets, buckets).

    joint: share of the users who fall into both of two buckets and, on the diagonal, into one, float64, shape
        (buckets, buckets); with a single hash, nobody falls into two.
    """
    shares = joint.diagonal()
    p, q = oracle.support
    supported = np.clip(q + shares * (p - q), 0.0, 1.0)
    if oracle.fixed_total:
        # One bucket is named: multinomial.
        both = -np.outer(supported, supported)
    else:
        # The bits are perturbed independently.
        both = (joint - np.outer(shares, shares)) * (p - q) ** 2
    np.fill_diagonal(both, supported * (1 - supported))
    scaled: NDArray[np.float64] = both / ((p - q) ** 2 * reports)
    return scaled


def cohort_leverage(design: NDArray[np.float64], oracle: BucketOracle) -> float:
    """Return the most that one crafted report can add to a frequency of any candidate; see `Leverage.of_one`.

    design: as `equations` makes it; the cohorts have equally many reports.
    """
    cohorts, _, unknowns = design.shape
    p, q = oracle.support
    rows = design.reshape(-1, unknowns)
    # What a report adds that supports a bucket of its cohort, relative to the mean over all reports.
    added = cohorts * _solution(rows, np.ones(len(rows))).reshape(unknowns, cohorts, -1) / (p - q)
    if oracle.fixed_total:
        # It supports one bucket.
        rest = -q * added.sum(axis=2)
        most, least = added.max(axis=2) + rest, added.min(axis=2) + rest
    else:
        # It supports any buckets.
        most = np.maximum(added * (1 - q), -added * q).sum(axis=2)
        least = np.minimum(added * (1 - q), -added * q).sum(axis=2)
    return float(max(most.max(), 1.0 - least.min()))


def solve_cohorts(
    design: NDArray[np.float64],
    estimates: NDArray[np.float64],
    oracle: BucketOracle,
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
    covariances = [
        covariance(_joint(cohort, first), oracle, reports=count)
        for cohort, count in zip(design, reports.tolist(), strict=True)
    ]
    weights = 1 / np.maximum(np.concatenate([each.diagonal() for each in covariances]), 1e-12)
    solution = _solution(rows, weights)
    parts = np.split(solution, len(design), axis=1)
    variance = sum(((part @ each) * part).sum(axis=1) for part, each in zip(parts, covariances, strict=True))
    return solution @ estimates.reshape(-1), np.sqrt(np.maximum(variance, 0.0))


def solve_candidates(
    design: NDArray[np.float64],
    estimates: NDArray[np.float64],
    oracle: BucketOracle,
    *,
    reports: NDArray[np.float64],
    others: bool,
) -> CandidateEstimate:
    """Estimate the frequencies of all candidates, or of those that stand out where there are too many.

    design, estimates, reports: as for `solve_cohorts`.
    others: whether the last column of the design is that of the others, who are always kept.
    """
    unknowns = design.shape[2]
    kept = np.ones(unknowns, dtype=np.bool_)
    if not are_identifiable(design):
        kept = _selected(design, estimates, oracle, reports=reports, others=others)
        if kept.any():
            raw, errors = solve_cohorts(design[:, :, kept], estimates, oracle, reports=reports)
            least = NormalDist().inv_cdf(1 - _FAMILY_ERROR / unknowns)
            stands_out = raw > least * errors
            if others:
                stands_out[-1] = True
            kept[kept] = stands_out
    found = CandidateEstimate(raw=np.zeros(unknowns), standard_error=np.zeros(unknowns), kept=kept)
    if kept.any():
        found.raw[kept], found.standard_error[kept] = solve_cohorts(
            design[:, :, kept], estimates, oracle, reports=reports
        )
    return found


def _selected(
    design: NDArray[np.float64],
    estimates: NDArray[np.float64],
    oracle: BucketOracle,
    *,
    reports: NDArray[np.float64],
    others: bool,
) -> NDArray[np.bool_]:
    """Select the candidates that non-negative LASSO gives a frequency, as many as the equations determine."""
    # Imported here: it takes seconds, and few collections have too many candidates.
    from sklearn.linear_model import Lasso  # noqa: PLC0415

    cohorts, buckets, unknowns = design.shape
    uniform = np.eye(buckets) / buckets
    variance = [covariance(uniform, oracle, reports=count).diagonal() for count in reports.tolist()]
    # In units of its error, every equation has noise of 1.
    scale = 1 / np.sqrt(np.concatenate(variance))
    rows = design.reshape(-1, unknowns) * scale[:, None]
    norm = float(np.sqrt((rows**2).sum(axis=0)).max())
    if others:
        rows[:, -1] *= _OTHERS_WEIGHT
    penalty = _PENALTY * norm * math.sqrt(2 * math.log(unknowns))
    lasso = Lasso(alpha=penalty / len(rows), positive=True, fit_intercept=False, max_iter=10_000, tol=1e-6)
    found = np.asarray(lasso.fit(rows, estimates.reshape(-1) * scale).coef_)
    if others:
        found[-1] = math.inf
    order = np.argsort(-found, kind="stable")
    count = min(int((found > 0).sum()), cohorts * (buckets - 1) + 1)
    kept = np.zeros(unknowns, dtype=np.bool_)
    kept[order[:count]] = True
    while not are_identifiable(design[:, :, kept]) and count > 1:
        count -= max(1, count // 8)
        kept[order[count:]] = False
    return kept


def _joint(cohort: NDArray[np.float64], frequencies: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the shares of the users who fall into both of two buckets, shape (buckets, buckets).

    The others, whose column is no candidate's, are taken to fall into buckets independently by several hashes.
    """
    joint = (cohort * np.clip(frequencies, 0.0, 1.0)) @ cohort.T
    shares = np.clip(cohort @ frequencies, 0.0, 1.0)
    np.fill_diagonal(joint, shares)
    return joint


def _solution(rows: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the matrix that takes observations to the weighted least squares solution."""
    weighted = rows * weights[:, None]
    # The matrix is singular where too few cohorts have answers.
    inverse = np.linalg.pinv(rows.T @ weighted, rcond=1e-12, hermitian=True)
    return np.asarray(inverse @ weighted.T, dtype=np.float64)
