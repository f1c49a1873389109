"""A prior of the joint distribution that is learnt from the reports themselves: a centre, and a strength.

If noise is strong, the likeliest joint distribution is mostly fitted noise: it can be several times further from the
truth than the product of the marginals is. So each level is shrunk towards what the level below implies, as strongly
as the reports suggest (empirical Bayes, see evidence.py):

    marginals   towards the uniform distribution,
    pairs       towards the product of the marginals; or towards that of one hidden factor (factor.py), which more
    attributes than those of the joint may share, if it is clearly likelier. Between binary attributes it may be one
    correlation (common_correlation.py), if that is likelier. The joint is shrunk towards the distribution of maximum
    entropy among those with these pairs.

Beforehand, it is as likely that the attributes are uniform, that they are independent, and that neither is the case.
The dependence of pairs and joint is believed as far as the reports then speak for the last of these. That of
marginals is believed as far as they speak against the first. Of 4,590 estimates of generated tables, 24 are more than
twice as far from the truth as the product of their marginals, 5 more than three times, and the worst 4.1 times. These
5 are all of tables without any dependence (`tests/benchmarks/joint_noise.py`).

CALM (Zhang et al., 2018) stops at the last of these; here it is the centre of the prior to which the likelihood of
the whole reports is added.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import NamedTuple, Self

import numpy as np

from stream_ldp.records.estimators.basis import MIN_RETAINED, AttributeBasis, Moments, ProductBasis
from stream_ldp.records.estimators.common_correlation import CommonCorrelation
from stream_ldp.records.estimators.evidence import Evidence, log_mean_ratios, tied_means
from stream_ldp.records.estimators.factor import Factor
from stream_ldp.records.estimators.likelihood import Likelihood
from stream_ldp.records.estimators.objective import Objective
from stream_ldp.records.estimators.patterns import Feature, FloatArray
from stream_ldp.records.estimators.rare_values import ShareErrors
from stream_ldp.records.estimators.solution import Start
from stream_ldp.records.estimators.squarem import ascend

#: Number of users by which a marginal may be off after iterative proportional fitting, and largest number of passes:
#: it takes tens, but noise can make three pairs that no joint has.
_FIT, _PASSES = 0.01, 100
#: Level of the test of independence.
INDEPENDENCE_LEVEL = 0.05
#: A dependence that is linear may leave less than nothing to a cell, which then has this share of the product's.
_MIN_SHARE = 0.02
#: Nats by which a factor has to be likelier than no dependence at all, since it is then believed in full: thirty
#: times as likely, which is very strong evidence (Jeffreys, 1961). At ten times, an estimate of uniform attributes
#: was 0.18 from the truth where the product of their marginals was 0.025 from it.
_CLEAR_FACTOR = math.log(30.0)
#: Share of the strongest dependence from which an attribute may be a function of the others: without any evidence,
#: the doubtful one is 0.24 of it. Attributes that nearly copy each other have 0.3 to 0.7 where that is seen.
_FUNCTION = 0.35
#: Nats within which marginals and pairs are solved: a pair has at most some hundred cells, and its ascent is cheap.
_TOLERANCE = 0.001


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class Prior:
    """A Dirichlet prior of a joint distribution, learnt from the reports.

    basis: basis of the attributes, at their fitted marginals.
    moments: moments of the reports in it.
    centre: positive, sums to 1, shape of the joint.
    strength: weight of the prior, in users.
    variances: prior variance of each coefficient in `basis`, with the doubt about it, shape of the joint; the
        constant's has no meaning, since the reports settle it.
    cautious_errors: expected squared error of each coefficient about the users who reported, over all variances that
        the reports leave open; see `Evidence.expected_errors`.
    share_errors: those of `marginals`, one an attribute.
    dependence: evidence of dependence between the attributes: of their joint against the product of the marginals.
    centre_kind: what the centre is.
    lacking: what an error of each coefficient lacks besides, squared, where reports are weighted to say more than
        they do; 0 for reports as they are.
    """

    basis: ProductBasis
    moments: Moments
    dependence: Evidence
    centre: FloatArray
    strength: float
    variances: FloatArray
    cautious_errors: FloatArray
    share_errors: tuple[ShareErrors, ...]
    centre_kind: Start
    lacking: FloatArray | float = 0.0

    @classmethod
    def learn(cls, likelihood: Likelihood, *, factor: Sequence[FloatArray] | None = None) -> Self:
        """Learn the prior level by level, from at least one report.

        factor: what each value of each attribute has of a factor of more attributes; see `hidden_factor`.
        """
        attributes = range(len(likelihood.sizes))
        marginals, bases, against_uniform = _marginals(likelihood, likelihood.select)
        basis = ProductBasis(bases)
        moments = basis.moments(likelihood)
        dependence = _dependence(basis, moments)
        independent = _probability_of_independence(against_uniform, dependence.log_mean_ratio)
        pairs: dict[tuple[int, ...], _Level] = {}
        if len(attributes) == 1:
            joint = marginals[0]
        elif len(attributes) == 2:
            evidence = _Pair(likelihood, basis, moments, dependence).evidence_of(factor) if factor else dependence
            joint = pairs[0, 1] = _Level.of(likelihood, evidence, _strength_of_pair(evidence, independent))
        else:
            pairs = dict(_levels_of_pairs(_pairs(likelihood.select, basis.attributes), independent, factor))
            joint = _Level.of_joint(likelihood, basis, moments, pairs, independent)
        variances = np.full(likelihood.sizes, joint.variance)
        errors = np.zeros(likelihood.sizes)
        if len(attributes) >= 3:
            errors[basis.order >= 3] = joint.errors(last=True)
        for which, level in pairs.items():
            place = _varying(len(attributes), *which)
            variances[place] = level.variance
            errors[place] = level.errors(last=level is joint).reshape(errors[place].shape)
        of_shares = []
        for j, (level, own) in enumerate(zip(marginals, basis.attributes, strict=True)):
            place = _varying(len(attributes), j)
            variances[place] = level.variance
            of_own = Moments(moments.reports, moments.means[place], moments.squares[place])
            fitted = replace(level, evidence=level.evidence.in_basis(own, of_own))
            of_shares.append(ShareErrors.of(level.objective.likelihood, own.marginal, variance=level.variance))
            # Where few reports show a value, what is linear in them leaves more open than there can be.
            most = tied_means(of_shares[j].most(own.functions[:, 1:]), own.retained[1:])
            errors[place] = np.minimum(fitted.errors(last=level is joint), most)
        return cls(
            basis=basis,
            moments=moments,
            centre=joint.objective.centre,
            strength=joint.objective.strength,
            variances=variances,
            cautious_errors=errors,
            share_errors=tuple(of_shares),
            dependence=dependence,
            centre_kind=_kind(len(attributes), factor),
        )

    @property
    def p_value(self) -> float:
        """Chance of a dependence as large, if the attributes were independent; see `Evidence.p_value`."""
        return self.dependence.p_value

    @property
    def marginals(self) -> tuple[FloatArray, ...]:
        """The fitted marginal of each attribute."""
        return tuple(attribute.marginal for attribute in self.basis.attributes)

    @property
    def strongest(self) -> float:
        """Variance of the coefficients of attributes that are as dependent as they can be."""
        return _ceiling(max(self.basis.product.shape))

    @property
    def nearly_function(self) -> bool:
        """Whether the dependence that the reports suggest is so strong that an attribute is nearly a function."""
        return self.dependence.doubtful_variance > _FUNCTION * self.strongest

    @property
    def may_be_function(self) -> bool:
        """Whether an attribute may be a function of the others: the reports show as much, or leave it open.

        Their coefficients have the expected square d_k^2 + e_k, with d_k the posterior's mean and e_k its error.
        """
        if self.nearly_function and self.p_value <= INDEPENDENCE_LEVEL:
            return True
        dependent = self.basis.order >= 2
        squares = self.basis.coefficients(self.expected) ** 2 + self.cautious_errors
        return bool(dependent.any() and squares[dependent].mean() > _FUNCTION * self.strongest)

    @property
    def spread(self) -> FloatArray:
        """Prior variance of each coefficient among the users who reported: their sampling adds 1 / N."""
        return self.variances + 1.0 / self.moments.reports

    @property
    def resolved(self) -> FloatArray:
        """Share of each coefficient's prior variance that the reports take away, from 0 (noise alone) to 1.

        The reports determine the coefficient of their users' joint with variance (1 - lambda_k) / (N lambda_k).
        """
        signal = self.moments.reports * self.basis.retained * self.spread
        return signal / (1.0 - self.basis.retained + signal)

    @property
    def response(self) -> FloatArray:
        """What a change of each mean score changes in the estimate: resolved / lambda, finite where lambda is 0."""
        N, retained = self.moments.reports, self.basis.retained
        return N * self.spread / (1.0 - retained + N * retained * self.spread)

    @property
    def expected(self) -> FloatArray:
        """Mean of the posterior, linear in the reports: sums to 1, and a cell may be negative."""
        prior_part = self.basis.coefficients(self.centre) * (1.0 - self.resolved)
        return self.basis.joint(prior_part + self.response * self.moments.means)


def hidden_factor(likelihood: Likelihood) -> tuple[FloatArray, ...] | None:
    """Learn the factor that makes attributes dependent, from all pairs of at least three of them.

    likelihood: that of at least one report; its attributes may have too many cells together to be solved.

    Returns:
        What each value of each attribute has of it, shape (size,), with mean 0 over the users. None if pairs that
        have nothing to do with each other, or attributes without any dependence, are the likelier.
    """
    _, bases, _ = _marginals(likelihood, likelihood.of_few)
    pairs = _AllPairs.of(likelihood, bases)
    factor = pairs.factor()
    return factor.values if factor.evidence > 0.0 and factor.evidence > pairs.log_mean_ratio() else None


def _kind(attributes: int, factor: Sequence[FloatArray] | None) -> Start:
    if attributes == 1:
        return Start.UNIFORM
    if factor is not None:
        return Start.FACTOR
    return Start.INDEPENDENCE if attributes == 2 else Start.PAIRS


def _marginals(
    likelihood: Likelihood, select: Callable[..., Likelihood]
) -> tuple[list[_Level], list[AttributeBasis], float]:
    """Fit each attribute by itself, and make its basis at what was fitted.

    Returns:
        The fits, the bases, and the log marginal likelihood of the marginals over that of uniform ones.
    """
    alone = [select(j) for j in range(len(likelihood.sizes))]
    shown = [_of_marginal(each) for each in alone]
    against_uniform = sum(each.log_mean_ratio for each in shown)
    share = math.exp(-np.logaddexp(0.0, -against_uniform))
    levels = [
        _Level.of(each, evidence, evidence.strength(share)) for each, evidence in zip(alone, shown, strict=True)
    ]
    bases = [AttributeBasis.of(each, level.fitted()) for each, level in zip(alone, levels, strict=True)]
    return levels, bases, against_uniform


def _of_marginal(likelihood: Likelihood) -> Evidence:
    """Return the evidence that an attribute is not uniform."""
    uniform = np.full(likelihood.sizes, 1.0 / likelihood.sizes[0])
    basis = ProductBasis([AttributeBasis.of(likelihood, uniform)])
    # The ceiling is 1, since the squares of the r - 1 coefficients add up to at most r - 1.
    return Evidence(basis=basis, moments=basis.moments(likelihood), centre=uniform, lowest=1, ceiling=1.0)


def _strength_of_pair(evidence: Evidence, independent: float) -> float:
    """Return the strength of the prior of one pair.

    independent: probability of independence.

    Of one coefficient, the reports say so little that the average over v is mostly one over the values that are
    tried: it was 0.071 from the truth where the mean of v was 0.049 (NLTCS, f = 0.1 with both stages). So the mean is
    taken, and of more coefficients the average if independence is the likelier. With the mean, 7 of 1,530 estimates
    were more than three times as far from the truth as the product of the marginals, and 0 with the average.
    """
    if evidence.coefficients > 1 and independent > 0.5:
        return evidence.average_strength(independent)
    return evidence.strength(1.0 - independent)


def _probability_of_independence(against_uniform: float, for_dependence: float) -> float:
    """Weigh uniform, independent and dependent attributes, as likely beforehand.

    against_uniform: log marginal likelihood of the marginals over that of uniform ones.
    for_dependence: log marginal likelihood of dependence over that of independence.
    """
    independent = np.logaddexp(0.0, against_uniform)
    return math.exp(independent - np.logaddexp(independent, against_uniform + for_dependence))


def _dependence(basis: ProductBasis, moments: Moments, centre: FloatArray | None = None) -> Evidence:
    centre = basis.product if centre is None else centre
    return Evidence(basis=basis, moments=moments, centre=centre, lowest=2, ceiling=_ceiling(max(basis.product.shape)))


def _ceiling(largest: int) -> float:
    """Return the largest possible prior variance of a coefficient of attributes whose largest has `largest` values.

    The mean square contingency of two attributes is at most min(r) - 1, over (r1 - 1)(r2 - 1) coefficients.
    """
    return 1.0 / max(1, largest - 1)


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class _Level:
    """One level of the hierarchy.

    objective: that of its fit.
    evidence: that of the distance of its coefficients from the centre.
    ceiling: the largest possible variance of these coefficients, if it is smaller than the evidence's.
    """

    objective: Objective
    evidence: Evidence
    ceiling: float = math.inf

    @classmethod
    def of_joint(
        cls,
        likelihood: Likelihood,
        basis: ProductBasis,
        moments: Moments,
        pairs: Mapping[tuple[int, ...], _Level],
        independent: float,
    ) -> Self:
        tolerance = _FIT / likelihood.reports
        marginals = [attribute.marginal for attribute in basis.attributes]
        # Pairs that disagree on an attribute that they share have no joint at all.
        consistent: dict[tuple[int, ...], FloatArray] = {
            (i, j): _proportional_fit(level.fitted(), {(0,): marginals[i], (1,): marginals[j]}, tolerance=tolerance)
            for (i, j), level in pairs.items()
        }
        fitted = _proportional_fit(basis.product, consistent, tolerance=tolerance)
        # One user more, from the product, so that pairs made of noise rule no cell out: cells have been as low as
        # 1e-118, from which no ascent recovers.
        centre = (likelihood.reports * fitted + basis.product) / (likelihood.reports + 1.0)
        # Effects of higher order are rarely larger than those of lower order (Wu and Hamada, 2000: effect hierarchy).
        usual = float(np.mean([level.variance for level in pairs.values()]))
        evidence = Evidence(
            basis=basis,
            moments=moments,
            centre=centre,
            lowest=3,
            ceiling=_ceiling(max(basis.product.shape)),
            usual=usual,
        )
        level = cls.of(likelihood, evidence, evidence.average_strength(independent))
        # If two of three attributes are independent, these coefficients are some of those of a pair: the third
        # attribute, and both others together. So their squares add up to no more than a pair's: on the mean, if their
        # variance may as well have any value up to twice as much.
        coefficients = int(np.count_nonzero(basis.order >= 3))
        return replace(level, ceiling=2.0 * (min(likelihood.sizes) - 1) / max(1, coefficients))

    @classmethod
    def of(cls, likelihood: Likelihood, evidence: Evidence, strength: float) -> Self:
        objective = Objective(likelihood=likelihood, centre=evidence.centre, strength=strength)
        return cls(objective=objective, evidence=evidence)

    @property
    def variance(self) -> float:
        """Prior variance of the coefficients, with the doubt about it.

        It believes all of the dependence: there may be as much, if the reports say little.
        """
        return self.evidence.doubtful_variance

    def errors(self, *, last: bool) -> FloatArray:
        """Compute the cautious errors of the coefficients; see `Evidence.expected_errors`.

        last: whether this is the estimate. If not, that of the joint moves it further to the reports.
        """
        return self.evidence.expected_errors(self.objective.strength if last else None, ceiling=self.ceiling)

    def fitted(self) -> FloatArray:
        return ascend(self.objective, self.objective.centre, tolerance=_TOLERANCE).point.joint


class _Pair(NamedTuple):
    """A pair of attributes, and what the reports say of its dependence."""

    likelihood: Likelihood
    basis: ProductBasis
    moments: Moments
    evidence: Evidence

    @property
    def retained(self) -> FloatArray:
        return np.maximum(self.basis.retained[1:, 1:], MIN_RETAINED)

    @property
    def estimates(self) -> FloatArray:
        return self.moments.means[1:, 1:] / self.retained

    @property
    def precisions(self) -> FloatArray:
        return self.likelihood.reports * self.retained

    def evidence_of(self, values: Sequence[FloatArray]) -> Evidence:
        """Return the evidence about the joint that a factor makes, from the evidence about each value."""
        return _dependence(self.basis, self.moments, _with_dependence(self.basis, np.outer(*values)))


class _ValuesOfFactor(NamedTuple):
    """What each value of each attribute has of a factor, and the evidence of it; see `Factor`."""

    values: tuple[FloatArray, ...]
    evidence: float

    @classmethod
    def of(cls, factor: Factor, attributes: Sequence[AttributeBasis]) -> Self:
        loadings = zip(attributes, factor.loadings, strict=True)
        return cls(tuple(each.functions[:, 1:] @ of_each for each, of_each in loadings), factor.evidence)


class _AllPairs(NamedTuple):
    """Evidence of the reports about the dependence of all pairs of attributes, before any pair is fitted.

    moments: of each two functions but the constants, those of all attributes one after another, shape (functions,
        functions); what it says of two functions of one attribute has no meaning.
    """

    attributes: tuple[AttributeBasis, ...]
    moments: Moments

    @classmethod
    def of(cls, likelihood: Likelihood, attributes: Sequence[AttributeBasis]) -> Self:
        """Compute it for at least one report."""
        means, squares = likelihood.mean_products_of_pairs([_varying_scores(attribute) for attribute in attributes])
        return cls(tuple(attributes), Moments(likelihood.reports, means, squares))

    @property
    def _sizes(self) -> list[int]:
        return [len(attribute.marginal) - 1 for attribute in self.attributes]

    def factor(self) -> _ValuesOfFactor:
        """Learn what each value has of one factor of all attributes."""
        each = np.concatenate([attribute.retained[1:] for attribute in self.attributes])
        retained = np.maximum(np.outer(each, each), MIN_RETAINED)
        of = np.repeat(np.arange(len(self.attributes)), self._sizes)
        weight = np.where(of[:, None] == of, 0.0, self.moments.reports * retained)
        factor = Factor.of(self.moments.means / retained, weight, sizes=self._sizes)
        return _ValuesOfFactor.of(factor, self.attributes)

    def log_mean_ratio(self) -> float:
        """Compute the log marginal likelihood of pairs that have nothing to do with each other over no dependence."""
        N, means, squares = self.moments
        sizes = self._sizes
        begins = np.cumsum([0, *sizes])
        alike: dict[tuple[int, int], list[tuple[int, int]]] = {}
        for pair in combinations(range(len(self.attributes)), 2):
            i, j = sorted(pair, key=sizes.__getitem__)
            alike.setdefault((sizes[i], sizes[j]), []).append((i, j))
        found = 0.0
        for (few, many), pairs in alike.items():
            first, second = np.array(pairs).T
            rows = (begins[first, None] + np.arange(few))[:, :, None]
            columns = (begins[second, None] + np.arange(many))[:, None, :]
            one, other = (
                np.array([self.attributes[place].retained[1:] for place in places]) for places in (first, second)
            )
            ratios = log_mean_ratios(
                Moments(
                    N, means[rows, columns].reshape(len(pairs), -1), squares[rows, columns].reshape(len(pairs), -1)
                ),
                (one[:, :, None] * other[:, None, :]).reshape(len(pairs), -1),
                ceiling=_ceiling(many + 1),
            )
            found += float(ratios.sum())
        return found


def _varying_scores(attribute: AttributeBasis) -> Feature:
    """Return the feature that is the scores of an attribute's functions but the constant."""
    return lambda likelihoods: attribute.scores(likelihoods)[:, 1:]


def _pairs(select: Callable[..., Likelihood], attributes: Sequence[AttributeBasis]) -> dict[tuple[int, int], _Pair]:
    pairs = {}
    for i, j in combinations(range(len(attributes)), 2):
        likelihood, basis = select(i, j), ProductBasis([attributes[i], attributes[j]])
        moments = basis.moments(likelihood)
        pairs[i, j] = _Pair(likelihood, basis, moments, _dependence(basis, moments))
    return pairs


def _factor(pairs: Mapping[tuple[int, int], _Pair]) -> _ValuesOfFactor:
    """Learn what each value has of one factor of all attributes."""
    factor = Factor.learn(
        {key: each.estimates for key, each in pairs.items()}, {key: each.precisions for key, each in pairs.items()}
    )
    attributes = [
        pairs[0, 1].basis.attributes[0],
        *(each.basis.attributes[1] for (i, _), each in pairs.items() if i == 0),
    ]
    return _ValuesOfFactor.of(factor, attributes)


def _levels_of_pairs(
    pairs: Mapping[tuple[int, int], _Pair], independent: float, factor: Sequence[FloatArray] | None
) -> Iterator[tuple[tuple[int, int], _Level]]:
    """Fit every pair of at least three attributes: to a given factor, or by itself, or to what all have in common."""
    best = _likeliest(pairs) if factor is None else _about_factor(pairs, factor)
    for pair, each in pairs.items():
        yield pair, _Level.of(each.likelihood, best[pair], best[pair].average_strength(independent))


def _about_factor(
    pairs: Mapping[tuple[int, int], _Pair], values: Sequence[FloatArray]
) -> dict[tuple[int, int], Evidence]:
    return {(i, j): each.evidence_of((values[i], values[j])) for (i, j), each in pairs.items()}


def _likeliest(pairs: Mapping[tuple[int, int], _Pair]) -> dict[tuple[int, int], Evidence]:
    """Return the evidence about the likeliest centres: every pair by itself, or what all have in common."""
    best = alone = {pair: each.evidence for pair, each in pairs.items()}
    likeliest = sum(each.log_mean_ratio for each in alone.values())
    factor = _factor(pairs)
    if factor.evidence > max(likeliest, _CLEAR_FACTOR):
        best, likeliest = _about_factor(pairs, factor.values), factor.evidence
    binary = {pair: each for pair, each in pairs.items() if each.estimates.size == 1}
    if len(binary) > 1:
        common = CommonCorrelation.learn(
            np.array([each.estimates.item() for each in binary.values()]),
            np.array([each.precisions.item() for each in binary.values()]),
        )
        about_common = dict(alone)
        for pair, each in binary.items():
            first, second = (attribute.functions[:, 1] for attribute in each.basis.attributes)
            about_common[pair] = each.evidence_of((common.mean * first, second))
        if common.evidence + sum(each.log_mean_ratio for each in about_common.values()) > likeliest:
            best = about_common
    return best


def _with_dependence(basis: ProductBasis, dependence: FloatArray) -> FloatArray:
    """Make the joint of a pair with the marginals of the basis and a dependence, as far as that leaves no cell empty.

    dependence: what each cell has more than the product, as a share of it, shape (size, size).
    """
    joint = np.maximum(1.0 + dependence, _MIN_SHARE) * basis.product
    marginals: dict[tuple[int, ...], FloatArray] = {(j,): each.marginal for j, each in enumerate(basis.attributes)}
    return _proportional_fit(joint / joint.sum(), marginals, tolerance=MIN_RETAINED)


def _varying(attributes: int, *which: int) -> tuple[int | slice, ...]:
    """Return the index of the products with a factor other than the constant for exactly these attributes."""
    return tuple(slice(1, None) if j in which else 0 for j in range(attributes))


def _proportional_fit(
    start: FloatArray, marginals: Mapping[tuple[int, ...], FloatArray], *, tolerance: float
) -> FloatArray:
    """Find the distribution nearest to `start`, in Kullback-Leibler divergence, with these marginals of its axes.

    It is found by iterative proportional fitting (Deming and Stephan, 1940; Csiszar, 1975), until each marginal is
    within `tolerance`.
    """
    joint = start
    for _ in range(_PASSES):
        worst = 0.0
        for axes, wanted in marginals.items():
            others = tuple(j for j in range(joint.ndim) if j not in axes)
            target = np.expand_dims(wanted, others)
            current = joint.sum(axis=others, keepdims=True)
            worst = max(worst, float(np.abs(target - current).max()))
            joint = joint * np.divide(target, current, out=np.zeros_like(target), where=current > 0.0)
        if worst <= tolerance:
            break
    total: float = joint.sum()
    return joint / total
