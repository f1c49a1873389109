"""Tests of the distributions that records are made from."""

import numpy as np
import pytest

from stream_ldp.synthesis.marginals import PairMarginals, ViewMarginals, least_p_value
from stream_ldp.views.fitting import Fit
from stream_ldp.views.tables import view_tables
from tests.synthesis.examples import TRUTH, exact
from tests.views.examples import SIZES, collection_of, sums_of, users


def test_any_joint_follows_from_pairs() -> None:
    joint = exact({}).joint((0, 1, 2))
    assert joint == pytest.approx(TRUTH.sum(axis=3), abs=1e-6), "a chain has no dependence of three"


def test_pairs_that_disagree_get_the_margins_of_the_attributes() -> None:
    marginals = PairMarginals(
        attributes=[np.array([0.5, 0.5]), np.array([0.25, 0.75])],
        pairs={(0, 1): np.array([[0.1, 0.2], [0.1, 0.6]])},
        p_values={(0, 1): 0.0},
    )
    joint = marginals.joint((0, 1))
    assert joint.sum(axis=1) == pytest.approx([0.5, 0.5], abs=1e-6)
    assert joint.sum(axis=0) == pytest.approx([0.25, 0.75], abs=1e-6)


def test_what_is_estimated_directly_is_taken_for_three_attributes_and_more() -> None:
    pairs = exact({})
    direct = PairMarginals(
        attributes=pairs.attributes, pairs=pairs.pairs, p_values={}, direct=lambda of: np.full((1,) * len(of), 1.0)
    )
    assert direct.joint((0, 1)).shape == (2, 3)
    assert direct.joint((0, 1, 2)).shape == (1, 1, 1)


def test_pairs_that_users_tell_in_views_have_p_values() -> None:
    """Who walks mostly bathes, and the region depends on nothing: seeded, and 1 seed in 100 says otherwise."""
    questions = collection_of().questions
    tables = view_tables(questions, [(1.0, sums_of(questions, users(20_000)))])
    marginals = ViewMarginals(fit=Fit(tables, sizes=SIZES))
    assert marginals.sizes == SIZES
    assert marginals.p_values[0, 1] < 1e-6
    assert min(marginals.p_values[place, 3] for place in range(3)) > 0.003
    assert marginals.joint((0, 1, 2)).sum() == pytest.approx(1)
    assert marginals.margin(2).shape == (3,)


def test_a_simulated_p_value_gives_way_to_a_bound_that_is_less() -> None:
    assert least_p_value(0.001, statistic=40.0) == pytest.approx(np.exp(-20))
    assert least_p_value(0.3, statistic=-4.0) == 0.3
