"""The benchmark of key-value data: the composition that PCKV states is what enumeration finds."""

from __future__ import annotations

import pytest

from tests.benchmarks.pairs import collection_of, composed, enumerated, pckv_unary, privkv


@pytest.mark.parametrize(("of_key", "of_number"), [(1.0, 1.5), (0.5, 3.0), (2.0, 0.3), (1.2, 2.0)])
def test_the_published_composition_is_tight(of_key: float, of_number: float) -> None:
    assert enumerated(of_key, of_number) == pytest.approx(composed(of_key, of_number), abs=1e-9)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 4.0])
def test_shares_have_less_variance_than_by_the_published_mechanisms(epsilon: float) -> None:
    here = 2 * collection_of(100, epsilon, 1).question.randomizer.mean_variance
    assert here < pckv_unary(epsilon, 1)[0]
    assert here < privkv(epsilon, 100)[0]
