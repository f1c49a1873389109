"""The chance of a favoured outcome: the largest that keeps within epsilon, and what is said where there is none."""

from __future__ import annotations

import math

import pytest

from stream_ldp.errors import ParameterError
from stream_ldp.mechanisms.odds import kept_inside, loss_of


@pytest.mark.parametrize(("inside", "outside"), [(1, 1), (1, 999), (6, 10), (37, 64)])
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 5.0])
def test_the_next_larger_chance_would_cost_more_than_epsilon(epsilon: float, inside: int, outside: int) -> None:
    kept = kept_inside(epsilon, inside=inside, outside=outside)
    assert loss_of(kept, inside=inside, outside=outside) <= epsilon
    assert loss_of(kept + 1, inside=inside, outside=outside) > epsilon


@pytest.mark.parametrize("epsilon", [1e-10, 40.0])
def test_what_epsilon_could_be_is_said_where_it_is_beyond_the_resolution(epsilon: float) -> None:
    with pytest.raises(ParameterError, match=r"beyond the resolution of 2\^-32: with 16 choices it is between about"):
        kept_inside(epsilon, inside=6, outside=10)


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.inf, math.nan])
def test_an_epsilon_that_is_not_positive_and_finite_is_refused(epsilon: float) -> None:
    with pytest.raises(ParameterError, match="must be positive and finite"):
        kept_inside(epsilon, outside=1)
