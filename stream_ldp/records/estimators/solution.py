"""The result of an estimator."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from stream_ldp.records.effects import Effects
    from stream_ldp.records.estimators.patterns import FloatArray


class Method(StrEnum):
    """A method of estimating a joint distribution (Chu, Long and Liu, 2022, sections 4.4 to 4.6)."""

    EM = "em"
    LASSO = "lasso"
    LREMH = "lremh"


class Stop(StrEnum):
    """A form of a method, named after its stopping rule."""

    CERTIFICATE = "certificate"
    """Our form: the mode of a posterior, within a certified distance."""
    PAPER = "paper"
    """The paper's form: maximum likelihood without a prior, until no cell moves by delta."""


class Start(StrEnum):
    """The starting point of an iteration, or the centre of a prior."""

    UNIFORM = "uniform"
    INDEPENDENCE = "independence"
    """The product of the marginals."""
    PAIRS = "pairs"
    """The distribution of maximum entropy with the estimated pairs."""
    FACTOR = "factor"
    """That with the estimated pairs, which a hidden factor of more attributes makes dependent."""
    POPULATION = "population"
    """What is known of the population from previous windows, where a window's own reports say little."""
    LASSO = "lasso"
    PREVIOUS = "previous"
    """The given estimate, that of the previous window."""


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class Independence:
    """The product-of-marginals baseline, and a test of whether the joint differs from it.

    marginals: one distribution an attribute.
    log_likelihood: that of their product, nats, on the scale of `Solution.log_likelihood`.
    statistic: twice the log ratio of the marginal likelihoods of dependence and independence.
    degrees_of_freedom: of dependence: the number of cells less one, less those of the marginals.
    p_value: chance of a statistic at least as large if the attributes were independent.
    dependent: whether independence is rejected at the 5 % level.
    may_be_function: whether an attribute may be a function of the others: the reports show as much, or leave it open.
    """

    marginals: tuple[FloatArray, ...]
    log_likelihood: float
    statistic: float
    degrees_of_freedom: int
    p_value: float
    dependent: bool
    may_be_function: bool = False


class Errors(NamedTuple):
    """The errors of a joint distribution.

    standard_error: of each cell, of the shape of the joint.
    effects: how these errors go together.
    """

    standard_error: FloatArray
    effects: Effects


class Population(NamedTuple):
    """What is known of a population's joint, as of a Dirichlet distribution (see population.py).

    joint: its mean, at least 0, sums to 1.
    variance: of each coefficient of the truth (see basis.py) about it.
    reports: number of reports of the last window that was estimated from its own.
    """

    joint: FloatArray
    variance: float
    reports: float


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class Past:
    """All that a window takes from those before it (see temporal.py); arrays but `evidence` have the joint's shape.

    mean: m_k, as a joint distribution without any prior: it sums to 1, and cells may be far outside [0, 1].
    variances: s_k, the mean squared error of each of its coefficients about the population, without b_k^2 Var p_k.
    permanent: b_k, the part of the users' permanent noise that each holds.
    scores: of how far behind each coefficient is, in standard deviations (`stream_ldp.filtering.tracking`), as a
        table from which those of another basis follow: of each function, times the root of its distribution, which
        keeps their sum of squares.
    evidence: log-likelihood, up to a constant, of each of the drifts that are tried; 0 if nothing is known.
    population: what is known of its joint with a prior; None if nothing is.
    """

    mean: FloatArray
    variances: FloatArray
    permanent: FloatArray
    scores: FloatArray
    evidence: FloatArray
    population: Population | None = None


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class Temporal:
    """What a window has learnt from those before it, and what the next one can learn from it.

    alone: the joint as the window's own reports give it.
    users: weight of previous windows in the solution, in users who report as those of this window did; 0 if it is
        that of the window alone.
    drift: expected squared change of a coefficient (see basis.py) from one window to the next; None if no window was
        before.
    jumped: whether the population has moved as never before, so that the past says nothing.
    past: what the next window takes from this one.
    """

    alone: FloatArray
    users: float
    drift: float | None
    jumped: bool
    past: Past


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class Solution:
    """A joint distribution with what is known of its error. Every number is finite.

    joint: float64, one axis an attribute, at least 0, sums to 1.
    standard_error: of each cell, same shape: the expected root mean square distance from the share of the users who
        reported, noise and shrinkage included (see standard_error.py).
    effects: how these errors go together; None where nothing is known.
    iterations: evaluations of the EM map; 0 for lasso.
    certificate: nats; an upper bound of what the maximised objective could still gain. The objective is the
        log-posterior of `Objective` for em and lremh with stop "certificate", that of lasso.py for lasso, and the
        log-likelihood for the published forms.
    tolerance: nats; a certificate within it adds at most 0.1 % to the expected squared error.
    certified: whether the certificate is within the tolerance; never without reports.
    start: starting point of the iteration.
    log_likelihood: that of the joint, nats, up to a constant that depends on the reports alone.
    prior_users: weight of the prior, in users who report without noise; 0 with stop "paper".
    prior_centre: the centre of the prior; None with stop "paper", which has none.
    temporal: what was learnt from previous windows; None if that was not asked for, or there are no reports.
    """

    joint: FloatArray
    standard_error: FloatArray
    method: Method
    stop: Stop
    iterations: int
    certificate: float
    tolerance: float
    certified: bool
    start: Start
    log_likelihood: float
    prior_users: float
    prior_centre: Start | None
    independence: Independence
    effects: Effects | None = None
    temporal: Temporal | None = None
