"""The benchmark of key-value data: the composition that PCKV states is what enumeration finds."""

import numpy as np
import pytest

from tests.benchmarks.pairs import collection_of, composed, enumerated, measured, pckv_unary, privkv


@pytest.mark.parametrize(("of_key", "of_number"), [(1.0, 1.5), (0.5, 3.0), (2.0, 0.3), (1.2, 2.0)])
def test_the_published_composition_is_tight(of_key: float, of_number: float) -> None:
    assert enumerated(of_key, of_number) == pytest.approx(composed(of_key, of_number), abs=1e-9)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 4.0])
def test_shares_have_less_variance_than_by_the_published_mechanisms(epsilon: float) -> None:
    here = 2 * collection_of(100, epsilon, 1).question.randomizer.mean_variance
    assert here < pckv_unary(epsilon, 1)[0]
    assert here < privkv(epsilon, 100)[0]


def test_mean_squared_errors_are_those_that_standard_errors_state() -> None:
    """Of 300 repeats, a ratio of shares has a standard deviation of 0.012, the mean of those of means 0.015."""
    rows = [line.strip("| ").split(" | ") for line in measured(users=50_000, repeats=300)][2:]
    of_shares, of_means = np.array(rows)[:, [3, 6]].astype(float).T
    assert of_shares == pytest.approx(1.0, abs=0.05)
    assert of_means.mean() == pytest.approx(1.0, abs=0.05)
