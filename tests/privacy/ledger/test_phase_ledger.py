"""What a ledger charges for reports to phases, and which of them it refuses."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from stream_ldp.privacy.ledger.ledger import (
    AlreadyReported,
    Assumption,
    BudgetExceeded,
    PhaseReport,
    Spending,
    Terms,
    attribute_reports,
)
from stream_ldp.records.collection import JointCollection
from stream_ldp.sets.collection import ItemCollection
from stream_ldp.sets.phases import epoch_epsilon

METHODS = [
    "{kind: gfim, epsilon: 1, k: 2, set_size: 3}",
    "{kind: gfim-users, epsilon: 1, k: 2, set_size: 3}",
    "{kind: ldpminer, epsilon: 1, k: 2, set_size: 3}",
    "{kind: svim, epsilon: 1, k: 2}",
]

epsilons = st.floats(0.001, 8.0)


def collection_of(method: str = METHODS[0], *, name: str = "films", size: str = "60s") -> ItemCollection:
    return ItemCollection.parse(
        f"collection: {name}\nmechanism: {method}\nitems: {{size: 8}}\nwindow: {{size: {size}, grace: 1s}}\n"
    )


FILMS = collection_of()
RECORDS = JointCollection.parse(
    "collection: survey\nmechanism: {kind: rr-ldp, f: 0.5, p: 0.5, q: 0.75}\n"
    "attributes: [{name: smokes, values: [no, yes]}]\nwindow: {size: 60s}\n"
    "estimates: [{name: smokes, of: [smokes]}]\n"
)


def after(spending: Spending, *reports: tuple[int, int], collection: ItemCollection = FILMS) -> Spending:
    """Return the spending with reports to each (epoch, phase)."""
    for epoch, phase in reports:
        spending = spending.after_phase(PhaseReport.to(collection, phase=phase, epoch=epoch))
    return spending


def priced(epoch: int, phase: int, epsilon: float) -> PhaseReport:
    return PhaseReport(collection="films", fingerprint="00", phase=phase, epoch=epoch, epsilon=epsilon)


# What it costs.


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("epochs", [1, 7, 1_000])
def test_the_most_that_a_user_pays_is_the_methods_epsilon_per_epoch(method: str, epochs: int) -> None:
    collection = collection_of(method)
    most = 0.0
    for word in {phase.share[0] for phase in collection.method.phases}:
        mine = [phase for phase in collection.method.phases if phase.share[0] <= word < phase.share[1]]
        spending = after(
            Spending(), *((epoch, phase.number) for epoch in range(epochs) for phase in mine), collection=collection
        )
        most = max(most, spending.epsilon)
    assert most == epochs * epoch_epsilon(collection.method) == epochs * 1.0


@given(st.lists(st.tuples(st.integers(1, 3), epsilons), max_size=12))
def test_a_sum_is_rounded_up_by_at_most_the_last_digit(reports: list[tuple[int, float]]) -> None:
    spending = Spending()
    for epoch, (phase, epsilon) in enumerate(reports):
        spending = spending.after_phase(priced(epoch, phase, epsilon))
    exact = sum((Fraction(epsilon) for _, epsilon in reports), Fraction())
    assert exact <= Fraction(spending.epsilon)
    assert Fraction(math.nextafter(spending.epsilon, -math.inf)) < exact or not reports


@given(st.lists(st.sampled_from([(0, 0), (1, 0), (0, 1)]), max_size=6), st.integers(0, 6))
def test_reports_of_records_and_of_item_sets_add_up_in_one_ledger(
    reports: list[tuple[int, int]], epochs: int
) -> None:
    values = [(value,) for value, _ in reports]
    records = Spending().after(attribute_reports(RECORDS, values, tag_key=None))
    reported = after(Spending(), *((epoch, 1) for epoch in range(epochs)))
    both = after(records, *((epoch, 1) for epoch in range(epochs)))
    assert both.epsilon == pytest.approx(records.epsilon + reported.epsilon, abs=1e-12)
    assert both == reported.after(attribute_reports(RECORDS, values, tag_key=None))
    assert both.assumption is Assumption.FRESH


def test_a_change_of_prices_does_not_change_what_was_spent() -> None:
    spending = (
        Spending().after_phase(priced(1, 1, 0.5)).after_phase(priced(2, 1, 0.75)).after_phase(priced(3, 1, 0.5))
    )
    assert spending.epsilon == 1.75
    with pytest.raises(AlreadyReported):
        spending.after_phase(priced(2, 1, 0.5))
    with pytest.raises(AlreadyReported):
        spending.after_phase(priced(3, 1, 0.75))


def test_a_ledger_has_one_account_for_each_phase_however_many_reports() -> None:
    spending = after(Spending(), *((epoch, phase) for epoch in range(50) for phase in (1, 2)))
    assert [(each.phase, each.reports, each.last_epoch) for each in spending.phases] == [(1, 50, 49), (2, 50, 49)]


# Once an epoch.


class Reporting(RuleBasedStateMachine):
    """A ledger against a list of all reports, with files between and clocks that go back."""

    def __init__(self) -> None:
        super().__init__()
        self.spending = Spending()
        self.reported: list[tuple[str, int, int]] = []
        self.collections = {
            "films": FILMS,
            "others": collection_of(name="others"),
            "films anew": collection_of(size="30s"),
        }

    @rule(
        name=st.sampled_from(["films", "others", "films anew"]),
        phase=st.integers(1, 3),
        epoch=st.integers(-1, 4),
    )
    def report(self, name: str, phase: int, epoch: int) -> None:
        asked, collection = (epoch, phase), self.collections[name]
        if any(epoch <= last for other, same, last in self.reported if (other, same) == (name, phase)):
            with pytest.raises(AlreadyReported, match=rf"its epoch {epoch} is over"):
                after(self.spending, asked, collection=collection)
            return
        self.spending = after(self.spending, asked, collection=collection)
        self.reported.append((name, phase, epoch))

    @rule()
    def restart(self) -> None:
        self.spending = Spending.model_validate_json(self.spending.model_dump_json())

    @invariant()
    def counts_each_report(self) -> None:
        prices = [self.collections[name].method.phases[phase - 1].epsilon for name, phase, _ in self.reported]
        assert self.spending.epsilon == pytest.approx(math.fsum(prices), abs=1e-12)


test_a_phase_gets_one_report_an_epoch_and_none_once_the_epoch_is_over = Reporting.TestCase


# No more than agreed.


@given(st.floats(0.1, 5.0), st.lists(st.tuples(st.integers(0, 20), st.integers(1, 3)), max_size=20))
def test_a_budget_can_be_used_up_and_is_never_exceeded(budget: float, asked: list[tuple[int, int]]) -> None:
    terms, spending = Terms(budget=budget), Spending()
    for each in asked:
        try:
            would_be = after(spending, each)
        except AlreadyReported:
            continue
        if spending.epsilon + FILMS.method.phases[each[1] - 1].epsilon > budget:
            with pytest.raises(BudgetExceeded) as refusal:
                terms.check(spending, would_be)
            assert refusal.value.left == budget - spending.epsilon
            continue
        terms.check(spending, would_be)
        spending = would_be
    assert spending.epsilon <= budget


def test_rounding_does_not_cost_a_budget_its_last_report() -> None:
    asked = [(epoch, phase) for epoch in range(10) for phase in (1, 2)]
    before, everything = after(Spending(), *asked[:-1]), after(Spending(), *asked)
    Terms(budget=10.0).check(before, everything)


# Files of earlier releases.


def test_a_ledger_without_phases_is_read() -> None:
    old = Spending().after(attribute_reports(RECORDS, [(0,)], tag_key=None))
    document = old.model_dump(mode="json")
    assert document.pop("phases") == []
    assert Spending.model_validate(document) == old
