"""The chance of a favoured outcome: the largest that keeps within epsilon, and what is said where there is none."""

import math
import re
from collections.abc import Callable

import pytest

from stream_ldp.errors import ParameterError
from stream_ldp.mechanisms import SubsetResponse
from stream_ldp.mechanisms.k_rr import KRR
from stream_ldp.mechanisms.loloha import SignResponse
from stream_ldp.mechanisms.odds import kept_inside, loss_of
from stream_ldp.mechanisms.repeated import RepeatedResponse
from stream_ldp.mechanisms.rr_loss import rr_parameters
from stream_ldp.mechanisms.set_hadamard import SetHadamardResponse


@pytest.mark.parametrize(("inside", "outside"), [(1, 1), (1, 999), (6, 10), (37, 64)])
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 5.0])
def test_the_next_larger_chance_would_cost_more_than_epsilon(epsilon: float, inside: int, outside: int) -> None:
    kept = kept_inside(epsilon, inside=inside, outside=outside)
    assert loss_of(kept, inside=inside, outside=outside) <= epsilon
    assert loss_of(kept + 1, inside=inside, outside=outside) > epsilon


@pytest.mark.parametrize("epsilon", [1e-10, 40.0])
def test_what_epsilon_could_be_is_said_where_it_is_beyond_the_resolution(epsilon: float) -> None:
    with pytest.raises(ParameterError, match=r"beyond the resolution of 2\^-32 with 16 choices: 9.94e-10 to"):
        kept_inside(epsilon, inside=6, outside=10)


@pytest.mark.parametrize(
    ("epsilon", "made"),
    [
        (1e-12, lambda epsilon: kept_inside(epsilon, inside=6, outside=10)),
        (40.0, lambda epsilon: KRR(sizes=(2, 5), attribute_epsilon=epsilon)),
        (1e-12, lambda epsilon: KRR(sizes=(2, 5), attribute_epsilon=epsilon)),
        (1e-12, lambda epsilon: KRR(sizes=(2, 5), attribute_epsilon=2.0, report_epsilon=epsilon)),
        (1e-12, lambda epsilon: RepeatedResponse(size=3, epsilon=epsilon, lifetime=2.0)),
        (1.25e-9, lambda epsilon: SetHadamardResponse(size=10, slots=2, epsilon=epsilon, hash_bits=2)),
        (1e-12, lambda epsilon: SignResponse(epsilon=epsilon, lifetime=2.0)),
        (1e-12, lambda epsilon: rr_parameters(lifetime=epsilon, per_report=None, neighbours=2)),
        (1e-12, lambda epsilon: rr_parameters(lifetime=1.0, per_report=epsilon, neighbours=2)),
    ],
)
def test_an_epsilon_that_is_said_to_do_does(epsilon: float, made: Callable[[float], object]) -> None:
    with pytest.raises(ParameterError, match=r"would do$") as refused:
        made(epsilon)
    for number in re.findall(r"([0-9][0-9.e-]*) (?:to|or|would)", str(refused.value)):
        made(float(number))


@pytest.mark.parametrize("epsilon", [800.0, 1e300])
@pytest.mark.parametrize(
    "made",
    [
        lambda epsilon: kept_inside(epsilon, outside=1),
        lambda epsilon: KRR(sizes=(2, 5), attribute_epsilon=epsilon),
        lambda epsilon: RepeatedResponse(size=3, epsilon=epsilon / 2, lifetime=epsilon),
        lambda epsilon: SetHadamardResponse(size=10, slots=2, epsilon=epsilon, hash_bits=2),
        lambda epsilon: SignResponse(epsilon=epsilon / 2, lifetime=epsilon),
        lambda epsilon: SubsetResponse.forms(8, epsilon=epsilon),
    ],
)
def test_an_epsilon_that_overflows_is_refused(epsilon: float, made: Callable[[float], object]) -> None:
    with pytest.raises(ParameterError, match=r"beyond the resolution of 2\^-32"):
        made(epsilon)


def test_rr_ldp_gives_no_more_than_it_can_for_an_epsilon_however_large() -> None:
    most = rr_parameters(lifetime=1_000.0, per_report=500.0, neighbours=2)
    assert rr_parameters(lifetime=1e300, per_report=1e299, neighbours=2) == most


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.inf, math.nan])
def test_an_epsilon_that_is_not_positive_and_finite_is_refused(epsilon: float) -> None:
    with pytest.raises(ParameterError, match="must be positive and finite"):
        kept_inside(epsilon, outside=1)
