"""The epsilon of RR-LDP is what its derivation gives, and parameters for an epsilon neither exceed nor waste it."""

import math
from decimal import Decimal, localcontext

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_ldp.mechanisms import RRLDP
from stream_ldp.mechanisms.rr_loss import rr_parameters
from stream_ldp.records.plan import cell_error

SURVEY = RRLDP(sizes=(2, 3), f=0.5, p=0.5, q=0.75)


@pytest.mark.parametrize(
    ("neighbours", "reports", "epsilon"),
    [(1, 1, 0.5371), (2, 1, 1.0743), (2, 2, 2.0170), (2, 3, 2.7556), (2, 10, 4.2993), (2, math.inf, 4.3944)],
)
def test_epsilon_is_what_the_derivation_gives(neighbours: int, reports: float, epsilon: float) -> None:
    assert SURVEY.epsilon(neighbours=neighbours, reports=reports) == pytest.approx(epsilon, abs=5e-5)


def test_epsilon_covers_all_attributes_unless_told_otherwise() -> None:
    assert SURVEY.epsilon() == SURVEY.epsilon(neighbours=2)


mechanisms = st.builds(
    lambda sizes, f, response: RRLDP(sizes=tuple(sizes), f=f, p=response[0], q=response[1]),
    st.lists(st.integers(2, 5), min_size=1, max_size=4),
    st.floats(1e-6, 1 - 1e-6),
    st.one_of(
        st.just((None, None)),
        st.tuples(st.floats(0, 1), st.floats(0, 1))
        .map(sorted)
        .filter(lambda pair: pair[1] - pair[0] > 1e-6)
        .map(tuple),
    ),
)


@settings(deadline=None)
@given(mechanisms, st.integers(1, 10**6))
def test_more_reports_cost_no_less_and_never_more_than_reporting_for_ever(mechanism: RRLDP, reports: int) -> None:
    fewer, more = mechanism.epsilon(reports=reports), mechanism.epsilon(reports=reports + 1)
    assert fewer <= more <= mechanism.epsilon(reports=math.inf)


@settings(deadline=None)
@given(mechanisms)
def test_epsilon_is_rounded_up_to_the_next_float64(mechanism: RRLDP) -> None:
    """Against 100 digits: what is returned is the next float64 above the value, and not the one after it."""
    flip = mechanism.flip_threshold
    with localcontext(prec=100):
        exact = 2 * len(mechanism.sizes) * (Decimal(2**32 - flip) / Decimal(flip)).ln()
        epsilon = mechanism.epsilon(reports=math.inf)
        assert Decimal(epsilon) >= exact > Decimal(math.nextafter(epsilon, 0))


@pytest.mark.parametrize("reports", [0, -1, 1.5, math.nan, -math.inf])
def test_an_impossible_number_of_reports_is_refused(reports: float) -> None:
    with pytest.raises(ValueError, match="positive whole number"):
        SURVEY.epsilon(reports=reports)


def with_epsilon(
    sizes: tuple[int, ...], *, lifetime: float, per_report: float | None = None, neighbours: int | None = None
) -> RRLDP:
    f, p, q = rr_parameters(lifetime=lifetime, per_report=per_report, neighbours=neighbours or len(sizes))
    return RRLDP(sizes=sizes, f=f, p=p, q=q)


@settings(deadline=None)
@given(
    sizes=st.lists(st.integers(2, 5), min_size=1, max_size=4).map(tuple),
    lifetime=st.floats(0.01, 40),
    share=st.floats(0.01, 1),
    data=st.data(),
)
def test_parameters_for_an_epsilon_neither_exceed_nor_waste_it(
    sizes: tuple[int, ...], lifetime: float, share: float, data: st.DataObject
) -> None:
    neighbours = data.draw(st.integers(1, len(sizes)))
    mechanism = with_epsilon(sizes, lifetime=lifetime, per_report=share * lifetime, neighbours=neighbours)
    spent = mechanism.epsilon(neighbours=neighbours, reports=math.inf)
    spent_once = mechanism.epsilon(neighbours=neighbours)
    assert spent <= lifetime
    assert spent_once <= share * lifetime
    # 40 nats on one attribute put f at 4e-9, of which the resolution of 2^-32 is a twentieth.
    assert spent == pytest.approx(lifetime, rel=1e-2)
    assert spent_once == pytest.approx(share * lifetime, rel=1e-2)


@settings(deadline=None)
@given(lifetime=st.floats(0.5, 10), share=st.floats(0.05, 0.99), q=st.floats(0.01, 1))
def test_no_other_response_with_the_same_epsilon_is_more_accurate(lifetime: float, share: float, q: float) -> None:
    """Of all (p, q) that cost as much, found by bisection for any q, none counts a rare value more accurately."""
    best = with_epsilon((2,), lifetime=lifetime, per_report=share * lifetime)
    low, high = 0.0, q
    for _ in range(60):
        p = (low + high) / 2
        try:
            cost = RRLDP(sizes=(2,), f=best.f, p=p, q=q).epsilon()
        except ValueError:
            cost = 0.0
        low, high = (p, high) if cost > share * lifetime else (low, p)
    if high > q - 1e-6 or RRLDP(sizes=(2,), f=best.f, p=0.0, q=q).epsilon() < share * lifetime:
        return  # q costs less than asked for, whatever p is
    other = RRLDP(sizes=(2,), f=best.f, p=high, q=q)
    assert _rare_variance(best) <= _rare_variance(other) * (1 + 1e-5)


def _rare_variance(mechanism: RRLDP) -> float:
    channel = mechanism.channel()
    return channel.zero * (1 - channel.zero) / (channel.one - channel.zero) ** 2


@pytest.mark.parametrize("sizes", [(3,), (2, 3)])
def test_a_larger_epsilon_is_more_accurate(sizes: tuple[int, ...]) -> None:
    """An epsilon determines the standard error to expect of a value's share, and of a cell of the joint."""
    errors = [
        cell_error(with_epsilon(sizes, lifetime=4, per_report=once).supports, sizes, reports=10_000)
        for once in (0.5, 1, 2, 3, 4)
    ]
    assert errors == sorted(errors, reverse=True)
    assert errors[0] > 2 * errors[-1]


def test_the_permanent_response_alone_costs_what_was_asked_for() -> None:
    mechanism = with_epsilon((2, 3), lifetime=4)
    assert (mechanism.p, mechanism.q) == (None, None)
    assert mechanism.epsilon() == mechanism.epsilon(reports=math.inf) == pytest.approx(4, abs=1e-7)


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ({"lifetime": 1, "per_report": 2}, "per_report=2 must not exceed lifetime=1"),
        ({"lifetime": 0}, "lifetime must be a positive, finite epsilon, got 0"),
        ({"lifetime": math.inf}, "lifetime must be a positive, finite epsilon, got inf"),
        ({"lifetime": 1, "per_report": -1}, "per_report must be a positive, finite epsilon, got -1"),
        ({"lifetime": 1e-10}, "leaves no information"),
        ({"lifetime": 1, "per_report": 1e-10}, "leaves no information"),
    ],
)
def test_parameters_for_an_impossible_epsilon_are_refused(wanted: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        with_epsilon((2, 3), **wanted)  # type: ignore[arg-type]
