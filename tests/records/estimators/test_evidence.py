"""Tests of the evidence: the strength of the prior and the test of independence fit the reports."""

from __future__ import annotations

import numpy as np
import pytest

from stream_ldp.records.estimators import FloatArray, evidence
from stream_ldp.records.estimators.basis import Moments
from stream_ldp.records.estimators.evidence import Evidence
from stream_ldp.records.estimators.likelihood import Likelihood
from stream_ldp.records.estimators.prior import Prior
from tests.records.estimators.examples import draw

INDEPENDENT = np.outer([0.05, 0.15, 0.3, 0.5], [0.4, 0.3, 0.2, 0.1])
DEPENDENT = 0.6 * INDEPENDENT + 0.4 * np.diag([0.1, 0.2, 0.3, 0.4])
PERMANENT_ONLY, WITH_RESPONSE = None, (0.5, 0.75)


def learn(
    joint: FloatArray, reports: int, *, f: float, seed: int, response: tuple[float, float] | None = None
) -> Prior:
    counts, channel = draw(joint, reports, f=f, seed=seed, response=response)
    return Prior.learn(Likelihood.of(counts, sizes=joint.shape, supports=[channel] * len(joint.shape)))


@pytest.mark.parametrize(
    ("joint", "f", "response"),
    [
        (INDEPENDENT, 0.1, PERMANENT_ONLY),
        pytest.param(INDEPENDENT, 0.5, PERMANENT_ONLY, marks=pytest.mark.long),
        (INDEPENDENT, 0.5, WITH_RESPONSE),
        # Values so rare that a lone report of two of them would prove anything.
        (np.outer([0.985, 0.01, 0.005], [0.99, 0.004, 0.003, 0.003]), 0.02, PERMANENT_ONLY),
        # As two attributes, of which it takes the most time.
        pytest.param(np.multiply.outer(INDEPENDENT, [0.2, 0.8]), 0.3, PERMANENT_ONLY, marks=pytest.mark.long),
    ],
)
def test_independence_is_rejected_no_more_often_than_the_level_says(
    joint: FloatArray, f: float, response: tuple[float, float] | None
) -> None:
    """At level 0.05, 11 or more of 60 rejections have a chance of 2e-4; the seeds are fixed."""
    p_values = [learn(joint, 2_000, f=f, seed=seed, response=response).dependence.p_value for seed in range(60)]
    assert np.count_nonzero(np.array(p_values) <= 0.05) < 11


@pytest.mark.parametrize(
    ("f", "response", "reports"), [(0.3, None, 500), (0.5, None, 2_000), (0.5, (0.5, 0.75), 500_000)]
)
def test_dependence_is_found_where_there_are_enough_reports(
    f: float, response: tuple[float, float] | None, reports: int
) -> None:
    for seed in range(5):
        assert learn(DEPENDENT, reports, f=f, seed=seed, response=response).dependence.p_value <= 0.01


def test_the_strength_of_the_prior_matches_the_distance_from_its_centre() -> None:
    """A pair with mean square contingency phi^2 has v = phi^2 / (r1 - 1)(r2 - 1), and s about 1 / v at much noise."""
    product = np.outer(DEPENDENT.sum(axis=1), DEPENDENT.sum(axis=0))
    variance = float(((DEPENDENT - product) ** 2 / product).sum()) / 9
    strengths = [learn(DEPENDENT, 100_000, f=0.5, seed=seed).strength for seed in range(8)]
    assert 0.5 / variance < np.median(strengths) < 2 / variance


def test_independence_earns_a_stronger_prior_than_dependence() -> None:
    for seed in range(5):
        assert learn(INDEPENDENT, 20_000, f=0.5, seed=seed).strength > (
            20 * learn(DEPENDENT, 20_000, f=0.5, seed=seed).strength
        )


def test_without_noise_the_prior_has_almost_no_strength() -> None:
    """The joint of the users who reported is then known: it must not be drawn anywhere."""
    prior = learn(DEPENDENT, 1_000, f=1e-9, seed=1)
    assert prior.strength < 0.1


@pytest.mark.parametrize(("joint", "expected"), [(DEPENDENT, 0.001), (INDEPENDENT, 1.0)])
def test_a_p_value_that_is_sure_without_samples_is_what_the_samples_say(
    joint: FloatArray, expected: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    sure = [
        prior.dependence
        for prior in (learn(joint, 20_000, f=0.25, seed=seed) for seed in range(8))
        if prior.dependence.statistic == 0.0 or prior.dependence.statistic > 51.0
    ]
    assert len(sure) >= 3
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(np.random, "default_rng", _no_draws)
        assert [each.p_value for each in sure] == [expected] * len(sure)
    monkeypatch.setattr(evidence, "_NEVER", 0.0)
    for each in sure:
        del each.p_value
    assert [each.p_value for each in sure] == [expected] * len(sure)


def _no_draws(seed: int) -> None:
    raise AssertionError(f"samples of seed {seed} are drawn")


def test_doubt_widens_a_variance_that_reports_leave_open() -> None:
    """One pair of binary attributes tells v less well than 195 coefficients do, whatever the reports."""

    def doubt(joint: FloatArray, reports: int, f: float) -> float:
        found = learn(joint, reports, f=f, seed=1).dependence
        return found.doubtful_variance / found.variance

    many = 0.6 * np.outer(np.full(14, 1 / 14), np.full(16, 1 / 16)) + 0.4 * np.eye(14, 16) / 14
    assert 1.0 < doubt(many, 20_000, 0.05) < 1.1
    assert doubt(DEPENDENT, 300, 0.6) > 1.5


@pytest.mark.parametrize(("values", "ceiling"), [(2, 1.0), (3, 0.5)])
def test_where_reports_tell_nothing_the_expected_error_is_that_of_any_dependence(values: int, ceiling: float) -> None:
    """The variance may be all that is possible or none, and sampling adds 1 / 300."""
    nothing = learn(np.full((values, values), 1 / values**2), 300, f=0.9, seed=1, response=WITH_RESPONSE).dependence
    np.testing.assert_allclose(nothing.expected_errors(None), ceiling / 2 + 1 / 300, rtol=0.01)
    np.testing.assert_allclose(nothing.expected_errors(100.0), ceiling / 2 + 1 / 300, rtol=0.01)
    np.testing.assert_allclose(nothing.expected_errors(None, ceiling=0.1), 0.05 + 1 / 300, rtol=0.1)


@pytest.mark.parametrize(("values", "f", "strength"), [(2, 0.5, 30.0), (2, 0.2, 3.0), (4, 0.5, 300.0)])
def test_the_expected_error_is_the_mean_of_the_errors_that_are_made(values: int, f: float, strength: float) -> None:
    """2,000 draws by the model: the ratio has a standard deviation of 0.04 at most; the seed is fixed."""
    basis = learn(np.full((values, values), 1 / values**2), 1_000, f=f, seed=1).basis
    retained, own, centre = basis.retained, basis.order == 2, basis.product
    rng = np.random.default_rng(1)
    made, expected = [], []
    for v in rng.uniform(0.0, 1.0 / (values - 1), size=2_000):
        users = rng.normal(size=retained.shape) * np.sqrt(v + 1 / 1_000)
        noise = rng.normal(size=retained.shape) * np.sqrt(retained * (1.0 - retained) / 1_000)
        means = np.where(own, retained * users + noise, basis.coefficients(centre))
        evidence = Evidence(
            basis=basis,
            moments=Moments(1_000, means, means**2 + retained),
            centre=centre,
            lowest=2,
            ceiling=1.0 / (values - 1),
        )
        gain = 1_000 * retained / (1_000 * retained + strength)
        made.append(np.square(gain * means / retained - users)[own])
        expected.append(evidence.expected_errors(strength))
    assert np.mean(expected) == pytest.approx(np.mean(made), rel=0.15)


def test_the_expected_error_is_that_of_noise_where_reports_are_clear() -> None:
    prior = learn(DEPENDENT, 100_000, f=0.1, seed=1)
    retained = prior.basis.retained[prior.basis.order == 2]
    noise = (1.0 - retained) / (100_000 * retained)
    np.testing.assert_allclose(prior.dependence.expected_errors(prior.strength), noise, rtol=0.02)


def test_the_average_strength_shrinks_as_the_average_over_the_variance_does() -> None:
    """With a pair of binary attributes there is one coefficient, and one lambda."""
    found = learn(np.array([[0.4, 0.2], [0.1, 0.3]]), 3_000, f=0.7, seed=1)
    N, retained = found.moments.reports, float(found.basis.retained[1, 1])
    variances, posterior = found.dependence._variances, found.dependence._posterior
    kept = 0.8 * posterior @ ((variances + 1 / N) / ((1 - retained) / (N * retained) + variances + 1 / N))
    kept += 0.2 * retained
    assert N * retained / (N * retained + found.dependence.average_strength(0.2)) == pytest.approx(kept)
    assert found.dependence.average_strength(1.0) == pytest.approx(found.dependence.strength(0.0))


def test_where_next_to_nothing_is_retained_the_average_strength_is_that_of_the_mean_variance() -> None:
    found = learn(DEPENDENT, 50, f=1.0 - 1e-9, seed=1).dependence
    assert found.average_strength(0.5) == pytest.approx(found.strength(0.5))


@pytest.mark.parametrize("largest", [2**18, 700, 1], ids=["at-once", "some", "one-at-a-time"])
def test_the_evidence_of_many_pairs_is_that_of_each(largest: int, monkeypatch: pytest.MonkeyPatch) -> None:
    priors = [learn(DEPENDENT, 2_000, f=0.5, seed=seed) for seed in range(4)]
    open_ = priors[0].basis.order == 2
    together = Moments(
        2_000.0,
        np.array([each.moments.means[open_] for each in priors]),
        np.array([each.moments.squares[open_] for each in priors]),
    )
    monkeypatch.setattr(evidence, "_LARGEST", largest)
    found = evidence.log_mean_ratios(
        together, np.array([each.basis.retained[open_] for each in priors]), ceiling=1 / 3
    )
    np.testing.assert_allclose(found, [each.dependence.log_mean_ratio for each in priors], rtol=1e-9)
