"""Enumeration of epsilon: against the formulas, against brute force, and where the formulas do not hold."""

import itertools
import math

import numpy as np
import pytest

from stream_ldp.audit.enumeration import Enumeration, TooLarge
from stream_ldp.mechanisms import RRLDP
from tests.audit import brute_force

SURVEY = {"f": 0.5, "p": 0.5, "q": 0.75}
PERMANENT_ALONE = {"f": 0.3}
#: An IRR that is not symmetric, and one that cannot send 1 for a permanent 0.
RESPONSES = [SURVEY, PERMANENT_ALONE, {"f": 0.1, "p": 0.05, "q": 0.6}, {"f": 0.6, "p": 0.0, "q": 0.9}]


@pytest.mark.parametrize(
    ("neighbours", "reports", "epsilon"),
    [(1, 1, 0.5371), (2, 1, 1.0743), (2, 2, 2.0170), (2, 3, 2.7556), (2, math.inf, 4.3944)],
)
def test_the_published_table_is_reproduced(neighbours: int, reports: float, epsilon: float) -> None:
    survey = Enumeration.realised(RRLDP(sizes=(2, 3), **SURVEY))
    assert survey.epsilon(neighbours=neighbours, reports=reports) == pytest.approx(epsilon, abs=5e-5)


@pytest.mark.parametrize("parameters", RESPONSES)
@pytest.mark.parametrize(
    "sizes", [(2,), (3,), (2, 3), (4, 2, 3), (2,) * 16, (9, 8), pytest.param((40, 25), marks=pytest.mark.long)]
)
def test_a_claim_equals_what_is_enumerated(sizes: tuple[int, ...], parameters: dict[str, float]) -> None:
    mechanism = RRLDP(sizes=sizes, **parameters)
    enumeration = Enumeration.realised(mechanism)
    for neighbours in range(1, len(sizes) + 1):
        for reports in (1, 2, 3, 5, math.inf):
            claimed = mechanism.epsilon(neighbours=neighbours, reports=reports)
            enumerated = enumeration.epsilon(neighbours=neighbours, reports=reports)
            assert enumerated == pytest.approx(claimed, abs=1e-9, rel=0)


@pytest.mark.parametrize("reports", [1, 2, 3])
def test_what_linked_reports_tell_of_a_record_is_the_epsilon_of_so_many_reports(reports: int) -> None:
    """The numbers of ones tell all that the reports do; the pseudonym is the same whatever the record.

    Every number of ones of every bit is enumerated, as the estimator of linked reports sees it.
    """
    mechanism = RRLDP(sizes=(2,), f=0.25, p=0.25, q=0.75)
    ones = np.indices((reports + 1, reports + 1)).reshape(2, -1).T
    odds = mechanism.linked_odds(ones, np.full(len(ones), reports))
    # The odds of a record with the first value over one with the second.
    ratios = np.log(odds[:, 0]) - np.log(odds[:, 1])
    assert ratios.max() == pytest.approx(mechanism.epsilon(reports=reports), rel=1e-12)
    enumerated = Enumeration.realised(mechanism).epsilon(neighbours=1, reports=reports)
    assert ratios.max() == pytest.approx(enumerated, rel=1e-12)
    assert ratios.max() < mechanism.epsilon(reports=math.inf)


@pytest.mark.parametrize("parameters", RESPONSES)
@pytest.mark.parametrize(
    ("sizes", "reports"), [((2,), 1), ((2,), 2), ((2,), 3), ((3,), 2), ((2, 2), 1), ((2, 2), 2), ((2, 3), 1)]
)
def test_for_constant_records_the_enumeration_agrees_with_brute_force(
    sizes: tuple[int, ...], reports: int, parameters: dict[str, float]
) -> None:
    mechanism = RRLDP(sizes=sizes, **parameters)
    for neighbours in range(1, len(sizes) + 1):
        pairs = brute_force.constant_pairs(mechanism, neighbours=neighbours, reports=reports)
        enumerated = Enumeration.realised(mechanism).epsilon(neighbours=neighbours, reports=reports)
        assert enumerated == pytest.approx(brute_force.epsilon(mechanism, pairs), abs=1e-12)


@pytest.mark.parametrize(
    ("sizes", "reports", "parameters"),
    [
        *itertools.product([(2,)], [2, 3], RESPONSES),
        *itertools.product([(3,)], [2], RESPONSES),
        # Two attributes take ten times as long, and each may have any of these responses.
        *itertools.product([(2, 2)], [2], RESPONSES[1:3]),
    ],
)
def test_for_changing_records_the_enumeration_agrees_with_brute_force(
    sizes: tuple[int, ...], reports: int, parameters: dict[str, float]
) -> None:
    mechanism = RRLDP(sizes=sizes, **parameters)
    for neighbours in range(1, len(sizes) + 1):
        pairs = brute_force.changing_pairs(mechanism, neighbours=neighbours, reports=reports)
        enumerated = Enumeration.realised(mechanism).changing_epsilon(neighbours=neighbours, reports=reports)
        assert enumerated == pytest.approx(brute_force.epsilon(mechanism, pairs), abs=1e-12)


@pytest.mark.parametrize(
    ("size", "reports", "changing", "if_constant"),
    [
        (2, 2, 1.0743, 1.0085),
        (2, 4, 2.0170, 1.6444),
        # The same again takes a second; that it is right is shown above, by brute force.
        pytest.param(2, 6, 2.8882, math.inf, marks=pytest.mark.long),
        (3, 2, 1.2176, 1.0085),
        (3, 4, 2.4195, 1.6444),
    ],
)
def test_a_changing_record_costs_more_than_a_constant_one(
    size: int, reports: int, changing: float, if_constant: float
) -> None:
    """After six reports of two values, the loss is above what a constant record can ever lose, 2.197."""
    mechanism = RRLDP(sizes=(size,), **SURVEY)
    enumerated = Enumeration.realised(mechanism).changing_epsilon(neighbours=1, reports=reports)
    assert enumerated == pytest.approx(changing, abs=5e-5)
    if math.isfinite(if_constant):
        assert mechanism.epsilon(reports=reports) == pytest.approx(if_constant, abs=5e-5)
    else:
        assert mechanism.epsilon(reports=math.inf) == pytest.approx(2.1972, abs=5e-5)
    assert enumerated > mechanism.epsilon(reports=reports)


def test_two_reports_of_a_changing_record_cost_more_than_twice_one_report() -> None:
    """A record that stays against one that changes: the shared permanent response ties the two reports together."""
    mechanism = RRLDP(sizes=(3,), **SURVEY)
    enumerated = Enumeration.realised(mechanism).histories_epsilon([(0,), (0,)], [(1,), (2,)])
    assert enumerated == pytest.approx(1.2176, abs=5e-5)
    assert enumerated > 2 * mechanism.epsilon()


def test_values_that_neither_history_names_cost_too() -> None:
    """A bit of each of them is drawn once for a record that stays, and anew for one that changes."""
    six = Enumeration.realised(RRLDP(sizes=(6,), **SURVEY))
    histories = [[(one,), (other,)] for one, other in itertools.product(range(6), repeat=2)]
    most = max(six.histories_epsilon(histories[0], second) for second in histories)
    assert most > 1.2176 + 0.05
    assert six.changing_epsilon(neighbours=1, reports=2) == most


def test_histories_that_change_together_cost_the_sum_of_their_parts() -> None:
    mechanism = RRLDP(sizes=(2,), **SURVEY)
    first, second = [(0,), (0,), (1,), (1,)], [(1,), (1,), (0,), (0,)]
    together = Enumeration.realised(mechanism).histories_epsilon(first, second)
    assert together == pytest.approx(2 * mechanism.epsilon(reports=2), abs=1e-12)


def test_a_change_is_not_hidden_without_an_instantaneous_response() -> None:
    mechanism = RRLDP(sizes=(2,), **PERMANENT_ALONE)
    assert Enumeration.realised(mechanism).changing_epsilon(neighbours=1, reports=2) == math.inf


def test_an_enumeration_that_is_too_large_is_refused() -> None:
    survey = Enumeration.realised(RRLDP(sizes=(2, 3), **SURVEY))
    with pytest.raises(TooLarge, match="more than 5,000 pairs of histories"):
        survey.changing_epsilon(neighbours=1, reports=7)
    with pytest.raises(TooLarge, match="at most 16"):
        survey.epsilon(neighbours=1, reports=30)


@pytest.mark.parametrize("neighbours", [0, 3])
def test_an_impossible_number_of_neighbours_is_refused(neighbours: int) -> None:
    survey = Enumeration.realised(RRLDP(sizes=(2, 3), **SURVEY))
    with pytest.raises(ValueError, match="differ in 1 to 2 attributes"):
        survey.epsilon(neighbours=neighbours, reports=1)
