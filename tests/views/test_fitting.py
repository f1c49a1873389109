"""The fit of consistent joint distributions to the tables of views."""

from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from stream_ldp.mechanisms import DirectResponse
from stream_ldp.views.fitting import Fit, proportional_fit
from stream_ldp.views.margins import centred
from stream_ldp.views.tables import ViewTable, view_tables
from tests.views.examples import SIZES, collection_of, joint_of, sums_of, users


def fit_of(count: int = 60_000, mechanism: str = "epsilon: 4, ask: pairs") -> Fit:
    questions = collection_of(mechanism).questions
    return Fit(view_tables(questions, [(1.0, sums_of(questions, users(count)))]), sizes=SIZES)


def pair_fit(frequencies: NDArray[np.float64], reports: float) -> Fit:
    oracle = DirectResponse(size=frequencies.size, epsilon=3.0)
    table = ViewTable(of=(0, 1), oracle=oracle, reports=reports, frequencies=frequencies)
    return Fit([table], sizes=frequencies.shape)


def test_any_attributes_are_estimated_from_their_pairs() -> None:
    fit, people = fit_of(), users(60_000)
    for of in [(0, 1), (2, 1), (0, 1, 2), (3, 2, 1, 0)]:
        found = fit.joint(of)
        assert found.probability.sum() == pytest.approx(1)
        # A pair has 10,000 answers; these are five standard errors of a cell, and more.
        assert np.abs(found.probability - joint_of(people, of)).max() < 0.03


def test_every_pair_agrees_with_the_margins() -> None:
    fit = fit_of(2_000)
    for first, second in combinations(range(4), 2):
        pair = fit.pair(first, second).probability
        assert pair.min() >= 0
        assert pair.sum(axis=1) == pytest.approx(fit.margin(first), abs=1e-5)
        assert pair.sum(axis=0) == pytest.approx(fit.margin(second), abs=1e-5)


def test_the_order_of_attributes_is_that_of_the_axes() -> None:
    fit = fit_of(2_000)
    assert fit.joint((2, 0, 1)).probability == pytest.approx(fit.joint((0, 1, 2)).probability.transpose(2, 0, 1))


def test_noise_alone_is_shrunk_to_independence() -> None:
    product = np.outer([0.3, 0.7], [0.2, 0.3, 0.5])
    noise = 0.01 * np.array([[1, -1, 0], [-1, 1, 0]])
    few, many = pair_fit(product + noise, 200), pair_fit(product + noise, 2_000_000)
    assert few.pair(0, 1).kept < 0.05
    independent = np.outer(few.margin(0), few.margin(1))
    assert few.joint((0, 1)).probability == pytest.approx(independent, abs=1e-3)
    assert many.pair(0, 1).kept > 0.99
    assert many.joint((0, 1)).probability == pytest.approx(product + noise, abs=1e-3)


def test_an_attribute_that_nobody_reported_is_uniform_and_independent() -> None:
    fit = Fit([], sizes=(2, 4))
    assert fit.joint((0, 1)).probability == pytest.approx(np.full((2, 4), 1 / 8))
    assert (fit.pairs, fit.information((0,))) == ([], 0.0)
    with pytest.raises(KeyError):
        fit.pair(0, 1)


def test_a_fit_has_the_pairs_it_was_given_and_no_further_dependence() -> None:
    rng = np.random.default_rng(4)
    joint = rng.dirichlet(np.ones(12)).reshape(2, 2, 3)
    told = [((0, 1), joint.sum(axis=2)), ((1, 2), joint.sum(axis=0))]
    found, sweeps, change = proportional_fit(np.full((2, 2, 3), 1 / 12), told)
    expected = joint.sum(axis=2)[:, :, None] * joint.sum(axis=0)[None] / joint.sum(axis=(0, 2))[None, :, None]
    assert found == pytest.approx(expected)
    assert sweeps < 5
    assert change < 1e-7


def test_a_fit_of_nothing_is_the_start() -> None:
    start = np.full((2, 2), 0.25)
    assert proportional_fit(start, [])[0] == pytest.approx(start)


def test_a_centred_table_has_no_margins() -> None:
    table = centred(np.random.default_rng(1).random((3, 4)))
    assert table.sum(axis=0) == pytest.approx(np.zeros(4))
    assert table.sum(axis=1) == pytest.approx(np.zeros(3))
