"""Tests of weights with which the reports of a window say what is known from more windows."""

from __future__ import annotations

import numpy as np
import pytest

from stream_ldp.mechanisms import KRR, SeededEntropy
from stream_ldp.pipeline.statistics import RowCounts
from stream_ldp.records.estimators import FloatArray
from stream_ldp.records.estimators.calibration import calibrated
from stream_ldp.records.estimators.likelihood import Likelihood
from stream_ldp.records.estimators.prior import Prior
from stream_ldp.records.solve import supported
from tests.records.estimators.examples import draw, latent


def reports(joint: FloatArray, users: int, *, seed: int) -> Likelihood:
    counts, channel = draw(joint, users, f=0.3, seed=seed)
    return Likelihood.of(counts, sizes=joint.shape, supports=[channel] * joint.ndim)


@pytest.mark.parametrize("sizes", [(2, 3), (2, 2, 2), (3, 18), (20,)])
def test_weighted_reports_have_the_means_that_are_wanted(sizes: tuple[int, ...]) -> None:
    """Rows are arranged by pattern, for wider attributes in a tree, and by value where one attribute names values."""
    likelihood = reports(latent(sizes, seed=1), 20_000, seed=1)
    prior = Prior.learn(likelihood)
    basis, moments = prior.basis, prior.moments
    wanted = basis.moments(reports(latent(sizes, seed=1), 20_000, seed=2)).means
    weights = calibrated(likelihood, basis, moments, wanted, np.full(sizes, 1e-6))
    assert weights is not None
    assert weights.min() > 0.0
    found = basis.moments(likelihood.weighted(weights))
    assert found.reports == pytest.approx(20_000)
    before, after = np.abs(wanted - moments.means).max(), np.abs(wanted - found.means).max()
    assert after < 0.05 * before


def test_reports_that_say_what_is_wanted_all_weigh_the_same() -> None:
    likelihood = reports(latent((2, 3), seed=1), 500, seed=1)
    prior = Prior.learn(likelihood)
    weights = calibrated(likelihood, prior.basis, prior.moments, prior.moments.means, np.full((2, 3), 1e-6))
    assert weights is not None
    np.testing.assert_allclose(weights, 1.0, atol=1e-12)


def test_few_reports_have_no_weights_that_lead_far() -> None:
    likelihood = reports(latent((4, 4), seed=1), 20, seed=1)
    prior = Prior.learn(likelihood)
    far = prior.moments.means + 2.0 * np.sqrt(prior.moments.squares)
    assert calibrated(likelihood, prior.basis, prior.moments, far, np.full((4, 4), 1e-3)) is None


def test_a_value_that_no_report_names_is_left_as_it_is() -> None:
    """Nothing is retained of it, so no weights change what is said of it."""
    mechanism = KRR(sizes=(3, 2), attribute_epsilon=16.0)
    values = np.stack([np.arange(400) % 2, np.arange(400) % 2], axis=1)
    rows = mechanism.perturb(values, entropy=SeededEntropy(1))
    counts = supported(RowCounts.of(rows, bits=mechanism.bits), mechanism, (0, 1))
    likelihood = Likelihood.of(counts, sizes=(3, 2), supports=mechanism.supports)
    prior = Prior.learn(likelihood)
    weights = calibrated(likelihood, prior.basis, prior.moments, 0.99 * prior.moments.means, np.full((3, 2), 1e-6))
    assert weights is None or np.all(np.isfinite(weights))
