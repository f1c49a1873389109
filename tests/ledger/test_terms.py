"""Terms say what a user has agreed to, and what would be more than that."""

import itertools
import math
from typing import Any

import pytest

from stream_ldp.ledger.terms import DEFAULT_BUDGET, Assumption, Terms

VALUES = {"assumption": Assumption.VALUES}


@pytest.mark.parametrize(
    "terms",
    [
        {"budget": 0.0},
        {"budget": -1.0},
        {"budget": math.nan},
        {"budget": "8"},
        {"per_day": 0.0},
        {"per_day": math.nan},
        {"per_span": 0.0, "span_days": 7},
        {"per_span": 1.0},
        {"span_days": 7},
        {"per_span": 1.0, "span_days": 0},
        {"assumption": Assumption.VALUES},
        {"assumption": Assumption.VALUES, "max_values": 0},
        {"max_values": 2},
        {"assumption": Assumption.FRESH, "max_values": 2},
    ],
)
def test_terms_that_mean_nothing_are_refused(terms: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"budget|value"):
        Terms(**terms)


def test_the_default_budget_keeps_a_guess_from_even_odds_below_99_percent() -> None:
    assert Terms().budget == DEFAULT_BUDGET
    assert 0.98 < 1 / (1 + math.exp(-DEFAULT_BUDGET)) < 0.99


@pytest.mark.parametrize(
    ("terms", "agreed", "looser"),
    [
        ({"budget": 5.0}, {"budget": 4.0}, ["a budget of 5 instead of 4 nats"]),
        ({"per_day": 1.0}, {"per_day": 0.5}, ["1 instead of 0.5 nats a day"]),
        ({}, {"per_day": 0.5}, ["inf instead of 0.5 nats a day"]),
        ({}, {"per_span": 1.0, "span_days": 7}, ["no budget of some days instead of 1 nat in any 7 days"]),
        (
            {"per_span": 1.0, "span_days": 1},
            {"per_span": 1.0, "span_days": 7},
            ["1 nat in any 1 day instead of 1 nat in any 7 days"],
        ),
        ({"per_span": 0.5, "span_days": 30}, {"per_span": 1.0, "span_days": 7}, []),
        (
            {**VALUES, "max_values": 2},
            {},
            ["the assumption 'values' (at most 2) instead of the assumption 'constant'"],
        ),
        ({**VALUES, "max_values": 1}, {}, []),
        ({}, {**VALUES, "max_values": 2}, []),
        ({"assumption": Assumption.FRESH}, {}, ["the assumption 'fresh' instead of the assumption 'constant'"]),
        ({}, {"assumption": Assumption.FRESH}, ["the assumption 'constant' instead of the assumption 'fresh'"]),
        (
            {"budget": 9.0, "per_day": 2.0},
            {"per_day": 1.0},
            ["a budget of 9 instead of 4 nats", "2 instead of 1 nat a day"],
        ),
        ({"budget": 3.0, "per_day": 1.0}, {}, []),
    ],
)
def test_each_way_in_which_terms_allow_more_is_named(
    terms: dict[str, Any], agreed: dict[str, Any], looser: list[str]
) -> None:
    assert list(Terms(**terms).looser_than(Terms(**agreed))) == looser


def test_terms_are_never_looser_than_themselves_and_stricter_than_each_other_only_if_alike() -> None:
    some = [
        Terms(budget=budget, per_day=per_day, **values)
        for budget in (1.0, math.inf)
        for per_day in (0.5, math.inf)
        for values in ({}, {**VALUES, "max_values": 3}, {"assumption": Assumption.FRESH})
    ]
    for one, other in itertools.product(some, repeat=2):
        if one == other:
            assert not one.looser_than(other)
        else:
            assert one.looser_than(other) or other.looser_than(one)
