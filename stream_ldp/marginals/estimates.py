"""Estimates of one attribute from the sums of the answers about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from stream_ldp.marginals.candidates import equations, estimated_shares, solve_candidates
from stream_ldp.marginals.cohorts import BucketQuestion
from stream_ldp.mechanisms import (
    ChannelResponse,
    FrequencyOracle,
    HalfSpaceResponse,
    frequencies,
    standard_errors,
)
from stream_ldp.mechanisms.simplex import on_simplex
from stream_ldp.questions.questions import NumberQuestion

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from stream_ldp.mechanisms import PiecewiseResponse
    from stream_ldp.questions.answers import Answers

__all__ = [
    "FrequencyEstimate",
    "MeanEstimate",
    "estimate_distribution",
    "estimate_frequencies",
    "estimate_mean",
    "estimate_outputs",
]

#: Where the distribution of a number has converged: no probability changes by more in a step. A standard error of as
#: little takes 10^10 reports.
_TOLERANCE = 1e-5
_MOST_STEPS = 2_000


@dataclass(frozen=True, kw_only=True, slots=True)
class FrequencyEstimate:
    """The frequencies of the values of an attribute, each float64 of shape (values,).

    raw: unbiased.
    standard_error: of each, with the sampling of users.
    projected: the nearest distribution.
    others: the share of users with none of the candidates, projected; None where values are in a list.
    kept: whether each has an estimate, bool; where there are more candidates than can be told apart, those that do
        not stand out have none, and numbers of 0.
    """

    raw: NDArray[np.float64]
    standard_error: NDArray[np.float64]
    projected: NDArray[np.float64]
    kept: NDArray[np.bool_]
    others: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class MeanEstimate:
    """The mean of an attribute in units in which its range is from -1 to 1.

    raw: unbiased.
    standard_error: of it, with the sampling of users.
    """

    raw: float
    standard_error: float


def estimate_frequencies(answers: Sequence[Answers]) -> FrequencyEstimate:
    """Estimate the frequencies of an attribute from the answers to the one question about it, or of its cohorts.

    Raises:
        TypeError: they are no answers about values.
        ParameterError: the frequencies do not follow from the answers, see `estimate_outputs`.
    """
    hashed = [(each, each.question) for each in answers if isinstance(each.question, BucketQuestion)]
    if hashed:
        return _from_cohorts(hashed)
    (of_values,) = answers
    oracle: Any = of_values.question.randomizer
    if isinstance(oracle, ChannelResponse):
        raw = oracle.frequencies(of_values.sums, reports=of_values.reports)
        projected = on_simplex(raw)
        return FrequencyEstimate(
            raw=raw,
            standard_error=oracle.standard_errors(projected, reports=of_values.reports),
            projected=projected,
            kept=np.ones(len(raw), dtype=np.bool_),
        )
    if not isinstance(oracle, FrequencyOracle):
        raise TypeError(f"{oracle} is no frequency oracle")
    raw = frequencies(oracle, of_values.sums, reports=of_values.reports)
    return FrequencyEstimate(
        raw=raw,
        standard_error=standard_errors(oracle, raw, reports=of_values.reports),
        projected=on_simplex(raw),
        kept=np.ones(len(raw), dtype=np.bool_),
    )


def estimate_outputs(answers: Sequence[Answers]) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """Return the shares of the outputs of a channel from which no frequencies follow, and their standard errors.

    Returns:
        Both float64, shape (outputs,); None where frequencies can be estimated.
    """
    channel = answers[0].question.randomizer
    if not isinstance(channel, ChannelResponse) or channel.identifies:
        return None
    (of_values,) = answers
    shares = of_values.sums / of_values.reports
    return shares, np.sqrt(shares * (1 - shares) / of_values.reports)


def _from_cohorts(answers: Sequence[tuple[Answers, BucketQuestion]]) -> FrequencyEstimate:
    """Solve for the frequencies of candidates; a cohort that nobody has answered has no equations.

    If the cohorts that are left do not tell the candidates apart, those that do not stand out have no estimate, which
    may be all of them.
    """
    questions = [question for _, question in answers]
    (attribute,), oracle = questions[0].attributes, questions[0].randomizer
    is_open = attribute.candidates is not None
    found = solve_candidates(
        equations(questions, attribute.labels, others=is_open),
        np.stack([estimated_shares(oracle, each.sums, reports=each.reports) for each, _ in answers]),
        oracle,
        reports=np.array([each.reports for each, _ in answers]),
        others=is_open,
    )
    projected = np.zeros(len(found.raw))
    if found.kept.any():
        projected[found.kept] = on_simplex(found.raw[found.kept])
    count = len(attribute.labels)
    return FrequencyEstimate(
        raw=found.raw[:count],
        standard_error=found.standard_error[:count],
        projected=projected[:count],
        others=float(projected[-1]) if is_open else None,
        kept=found.kept[:count],
    )


def estimate_mean(answers: Sequence[Answers], *, of: int) -> MeanEstimate:
    """Estimate the mean of an attribute.

    The estimate is the mean of the unbiased estimates from all reports. Its variance is their second moment, less the
    squared mean, over the number of reports; the mean is not taken to be beyond the range, or else the error of a few
    equal answers would be 0.

    of: position of the attribute.
    """
    reports = sum(each.reports for each in answers)
    first = second = 0.0
    for each in answers:
        response = each.question.randomizer
        if isinstance(response, HalfSpaceResponse):
            place = each.question.of.index(of)
            first += each.reports * float(response.means(each.sums, reports=each.reports)[place])
            second += each.reports * response.scale**2
        elif isinstance(each.question, NumberQuestion):
            numbers = each.question.randomizer.numbers
            first += float(each.sums @ numbers)
            second += float(each.sums @ numbers**2)
    mean = first / reports
    variance = max(second / reports - min(max(mean, -1.0), 1.0) ** 2, 0.0)
    return MeanEstimate(raw=mean, standard_error=float(np.sqrt(variance / reports)))


def estimate_distribution(answers: Sequence[Answers]) -> NDArray[np.float64] | None:
    """Estimate the distribution of a number by EM with smoothing (EMS; Li et al., 2020, Algorithm 1).

    Returns:
        Probabilities of the points of the finest grid, shape (steps + 1,); None if the answers show a mean only.
    """
    on_grids = [
        (each.question.randomizer, each.sums) for each in answers if isinstance(each.question, NumberQuestion)
    ]
    steps = max((response.steps for response, _ in on_grids), default=1)
    if steps == 1:
        return None
    channel = np.concatenate([_on_grid(response, steps) for response, _ in on_grids], axis=1)
    counts = np.concatenate([sums for _, sums in on_grids])
    distribution = np.full(steps + 1, 1 / (steps + 1))
    for _ in range(_MOST_STEPS):
        posterior = distribution * (channel @ (counts / (distribution @ channel)))
        padded = np.pad(posterior / posterior.sum(), 1, mode="edge")
        smooth = (padded[:-2] + 2 * padded[1:-1] + padded[2:]) / 4
        smooth /= smooth.sum()
        change = float(np.abs(smooth - distribution).max())
        distribution = smooth
        if change < _TOLERANCE:
            break
    return distribution


def _on_grid(response: PiecewiseResponse, steps: int) -> NDArray[np.float64]:
    """Return P(outcome | point of a grid of so many steps), when the point is rounded to the response's own grid."""
    own, grid = np.linspace(0, 1, response.inputs), np.linspace(0, 1, steps + 1)
    return np.stack([np.interp(grid, own, column) for column in response.channel.T], axis=1)
