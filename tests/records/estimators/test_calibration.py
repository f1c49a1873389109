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
    calibration = calibrated(likelihood, prior, wanted, np.full(sizes, 1e-6))
    assert calibration is not None
    assert calibration.weights.min() > 0.0
    assert calibration.reached.ravel()[1:].min() > 0.95
    found = basis.moments(likelihood.weighted(calibration.weights))
    assert found.reports == pytest.approx(20_000)
    before, after = np.abs(wanted - moments.means).max(), np.abs(wanted - found.means).max()
    assert after < 0.05 * before


def test_reports_that_say_what_is_wanted_all_weigh_the_same() -> None:
    likelihood = reports(latent((2, 3), seed=1), 500, seed=1)
    prior = Prior.learn(likelihood)
    calibration = calibrated(likelihood, prior, prior.moments.means, np.full((2, 3), 1e-6))
    assert calibration is not None
    np.testing.assert_allclose(calibration.weights, 1.0, atol=1e-12)
    assert calibration.reached.ravel()[1:].min() > 0.95


@pytest.mark.parametrize(("users", "least", "most"), [(100, 0.3, 0.6), (10_000, 0.99, 1.0)])
def test_few_reports_lead_only_as_far_as_nearly_equal_weights_can_and_tell_how_far(
    users: int, least: float, most: float
) -> None:
    """By one standard error of every score of 64 cells: 100 reports go 0.45 of that way."""
    likelihood = reports(latent((8, 8), seed=1), users, seed=1)
    prior = Prior.learn(likelihood)
    means, squares = prior.moments.means, prior.moments.squares
    errors = np.sqrt((squares - means**2) / users)
    away = errors * np.where(np.arange(64).reshape(8, 8) % 2, 1.0, -1.0)
    away[0, 0] = 0.0
    calibration = calibrated(likelihood, prior, means + away, errors**2)
    assert calibration is not None
    weighted = likelihood.weighted(calibration.weights)
    assert weighted.reports == pytest.approx(users)
    change = prior.basis.moments(weighted).means - means
    ways = (away / np.where(away, errors, 1.0)) ** 2
    reached = float(np.average(change[away != 0.0] / away[away != 0.0]))
    assert reached == pytest.approx(float(np.average(calibration.reached, weights=ways)), abs=0.01)
    assert least <= reached <= most


def test_few_reports_have_no_weights_that_lead_far() -> None:
    likelihood = reports(latent((4, 4), seed=1), 20, seed=1)
    prior = Prior.learn(likelihood)
    far = prior.moments.means + 20.0 * np.sqrt(prior.moments.squares)
    assert calibrated(likelihood, prior, far, np.full((4, 4), 1e-6)) is None


def test_a_value_that_no_report_names_is_left_as_it_is() -> None:
    """Nothing is retained of it, so no weights change what is said of it."""
    mechanism = KRR(sizes=(3, 2), attribute_epsilon=16.0)
    values = np.stack([np.arange(400) % 2, np.arange(400) % 2], axis=1)
    rows = mechanism.perturb(values, entropy=SeededEntropy(1))
    counts = supported(RowCounts.of(rows, bits=mechanism.bits), mechanism, (0, 1))
    likelihood = Likelihood.of(counts, sizes=(3, 2), supports=mechanism.supports)
    prior = Prior.learn(likelihood)
    calibration = calibrated(likelihood, prior, 0.99 * prior.moments.means, np.full((3, 2), 1e-6))
    assert calibration is not None
    assert np.all(np.isfinite(calibration.weights))
    assert np.all(np.isfinite(calibration.reached))
