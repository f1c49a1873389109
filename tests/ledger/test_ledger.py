"""A ledger charges the mechanisms' own numbers, and never less than reports reveal under its assumption."""

import itertools
import json
import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from stream_ldp.audit.enumeration import Enumeration
from stream_ldp.collection.turns import Turn
from stream_ldp.ledger.ledger import (
    MAX_DAYS,
    MAX_RANGES,
    Account,
    AlreadyReported,
    Book,
    Spending,
    TurnTaken,
    book_of,
    check_terms,
    day_of,
    json_of,
)
from stream_ldp.ledger.reports import PhaseReport
from stream_ldp.ledger.terms import Assumption, BudgetExceeded, SpanBudgetExceeded, Terms, TooManyValues
from stream_ldp.mechanisms import RRLDP
from stream_ldp.records.collection import JointCollection
from stream_ldp.records.reports import charges
from stream_ldp.sets.collection import ItemCollection
from stream_ldp.sets.item_sets import ItemSets
from stream_ldp.sets.phases import epoch_epsilon
from stream_ldp.sets.reports import charges as of_sets
from tests.ledger.surveys import KEY, SURVEY, Noise, Record, collection_of, spent

#: An IRR that is not symmetric, one that cannot send 1 for a permanent 0, and none.
RESPONSES = [SURVEY, {"f": 0.1, "p": 0.05, "q": 0.6}, {"f": 0.6, "p": 0.0, "q": 0.9}, {"f": 0.3}]
#: Shows the same permanent responses through another IRR.
OTHER_RESPONSE: Noise = {"f": 0.5, "p": 0.25, "q": 0.75}


def spent_afresh(collection: JointCollection, records: Iterable[Record]) -> Spending:
    return Spending().after(charges(collection, records, secret=bytes(32), tag_key=None))


def changes(history: Sequence[int]) -> tuple[int, ...]:
    """Return when a history changes and returns, without its values."""
    return tuple(history.index(value) for value in history)


# Turns.


def turn(number: int, *, fingerprint: str = "ab", every: int = 5) -> Turn:
    return Turn(fingerprint=fingerprint, number=number, every=every)


@given(numbers=st.lists(st.integers(-40, 40), max_size=30), again=st.booleans())
def test_no_two_turns_are_within_w_however_the_clock_jumps(numbers: list[int], again: bool) -> None:
    spending, taken = Spending(), set()
    for number in numbers:
        try:
            spending = spending.after_turn(turn(number), again=again)
        except TurnTaken as refusal:
            spending.after_turn(turn(refusal.next_number), again=False)
        else:
            assert again or number not in taken
            taken.add(number)
    assert all(abs(one - other) >= 5 for one, other in itertools.combinations(taken, 2))
    assert [each.number for each in spending.turns] == ([max(taken)] if taken else [])


def test_turns_of_collections_are_apart() -> None:
    spending = Spending().after_turn(turn(7), again=False)
    both = spending.after_turn(turn(8, fingerprint="cd", every=2), again=False)
    assert {(each.fingerprint, each.number) for each in both.turns} == {("ab", 7), ("cd", 8)}
    assert spending.after_turn(None, again=False) == spending


# What is charged.


@pytest.mark.parametrize("noise", RESPONSES)
@pytest.mark.parametrize("sizes", [(2,), (2, 3), (4, 2, 3), (2,) * 7])
@pytest.mark.parametrize("reports", [1, 2, 3, 10, 1000])
def test_a_constant_record_is_charged_exactly_the_mechanisms_epsilon(
    sizes: tuple[int, ...], noise: Noise, reports: int
) -> None:
    collection = collection_of(*sizes, noise=noise)
    spending = spent(collection, [(1,) * len(sizes)] * reports)
    # To the last bit: a budget that was read off the mechanism buys what it says.
    assert spending.epsilon == collection.mechanism.epsilon(reports=reports)
    assert spending.epsilon <= collection.mechanism.epsilon(reports=math.inf)
    assert spending.assumption is Assumption.CONSTANT
    assert spending.promise == collection.mechanism.privacy_loss(reports=math.inf).assumption


@pytest.mark.parametrize("noise", RESPONSES)
@pytest.mark.parametrize("reports", [1, 2, 10, 1000])
def test_fresh_reports_are_charged_their_sum(noise: Noise, reports: int) -> None:
    collection = collection_of(2, 3, noise=noise)
    spending = spent_afresh(collection, [(time % 2, time % 3) for time in range(reports)])
    assert spending.epsilon == pytest.approx(reports * collection.mechanism.epsilon(), rel=1e-12)
    assert spending.assumption is Assumption.FRESH


@pytest.mark.parametrize("noise", RESPONSES)
@pytest.mark.parametrize(("size", "reports"), [(2, 2), (2, 3), (2, 4), (2, 6), (3, 2), (3, 3), (3, 4), (4, 3)])
def test_users_who_change_at_the_same_times_lose_no_more_than_is_charged(
    size: int, reports: int, noise: Noise
) -> None:
    """All pairs of such histories are enumerated; the charge is the worst of them, for each number of values."""
    collection = collection_of(size, noise=noise)
    enumeration = Enumeration.realised(collection.mechanism)
    worst: dict[int, float] = {}
    for first in itertools.product(range(size), repeat=reports):
        charged = spent(collection, [(value,) for value in first]).epsilon
        distinct = len(set(first))
        for second in itertools.product(range(size), repeat=reports):
            if changes(first) == changes(second):
                loss = enumeration.histories_epsilon([(x,) for x in first], [(y,) for y in second])
                assert loss <= charged + 1e-12
                worst[distinct] = max(worst.get(distinct, 0.0), loss)
    for distinct, loss in worst.items():
        history = [(min(time, distinct - 1),) for time in range(reports)]
        assert spent(collection, history).epsilon == pytest.approx(loss, abs=1e-9)


def test_a_changing_record_is_refused_or_charged_as_its_assumption_says() -> None:
    """Size 2, six reports: 2.888 are lost, where a constant record never loses more than 2.197."""
    collection = collection_of(2)
    mechanism = collection.mechanism
    enumeration = Enumeration.realised(mechanism)
    lost = enumeration.changing_epsilon(neighbours=1, reports=6)
    assert lost == pytest.approx(2.888, abs=5e-4)
    assert mechanism.epsilon(reports=math.inf) == pytest.approx(2.197, abs=5e-4)
    attained = [(0,), (0,), (0,), (0,), (1,), (1,)], [(0,), (1,), (1,), (1,), (0,), (0,)]
    assert enumeration.histories_epsilon(*attained) == lost

    # Constant: the second value is refused, and so is the claim.
    constant = Terms(assumption=Assumption.CONSTANT)
    before = spent(collection, attained[0][:4])
    with pytest.raises(TooManyValues):
        check_terms(constant, before, spent(collection, attained[0][4:5], before=before), time_ms=0)

    # Values: 2.756, for users who change at the same times. The two above do not, and the promise says so.
    values = spent(collection, attained[0])
    assert (
        values.epsilon == pytest.approx(2 * mechanism.epsilon(reports=3), abs=1e-9) == pytest.approx(2.756, abs=5e-4)
    )
    assert values.assumption is Assumption.VALUES
    assert "at the same times; when they change is not hidden" in values.assumption.promise
    assert changes([value for (value,) in attained[0]]) != changes([value for (value,) in attained[1]])

    # Fresh: 3.223, for any two users.
    fresh = spent_afresh(collection, attained[0])
    assert fresh.epsilon == pytest.approx(6 * mechanism.epsilon(), abs=1e-9) == pytest.approx(3.223, abs=5e-4)
    assert fresh.epsilon > lost


def test_twice_the_epsilon_for_ever_does_not_bound_what_changes_tell() -> None:
    """Why `values` promises nothing on when values change: a user who stays, against one who alternates."""
    collection = collection_of(2)
    alternating = [(time % 2,) for time in range(12)]
    lost = Enumeration.realised(collection.mechanism).histories_epsilon([(0,)] * 12, alternating)
    assert lost > 2 * collection.mechanism.epsilon(reports=math.inf)


def test_a_change_costs_more_with_memoised_responses_than_with_fresh_ones() -> None:
    """Why `fresh` needs a client that draws afresh: size 3, two reports, 1.218 against 2 x 0.537."""
    collection = collection_of(3)
    memoised = Enumeration.realised(collection.mechanism).changing_epsilon(neighbours=1, reports=2)
    assert memoised > spent_afresh(collection, [(0,), (1,)]).epsilon


@pytest.mark.parametrize("most", [1, 2, 3])
def test_many_reports_of_few_values_cost_no_more_than_those_values_for_ever(most: int) -> None:
    collection = collection_of(4, 5)
    spending = spent(collection, [(time % most, time % most) for time in range(10_000)])
    assert spending.epsilon == pytest.approx(most * collection.mechanism.epsilon(reports=math.inf), abs=1e-9)


def test_what_was_spent_still_counts_after_the_noise_is_changed() -> None:
    """p and q may change while the permanent responses stay: the sum is never below what is lost, and no claim is."""
    before, after = collection_of(2), collection_of(2, noise=OTHER_RESPONSE)
    spending = spent(after, [(0,)] * 3, before=spent(before, [(0,)] * 4))
    parts = before.mechanism.epsilon(reports=4) + after.mechanism.epsilon(reports=3)
    assert spending.epsilon == pytest.approx(parts, abs=1e-12)
    first, second = before.mechanism, after.mechanism
    assert isinstance(first, RRLDP)
    assert isinstance(second, RRLDP)
    assert spending.epsilon >= loss_through_both(first, 4, second, 3)
    # The same value is the same permanent response; another one is a second for both accounts.
    assert spending.assumption is Assumption.CONSTANT
    changed = spent(after, [(1,)], before=spent(before, [(0,)]))
    assert changed.assumption is Assumption.VALUES
    with pytest.raises(TooManyValues):
        check_terms(Terms(), spent(before, [(0,)]), changed, time_ms=0)


def loss_through_both(first: RRLDP, times: int, second: RRLDP, more: int) -> float:
    """Two values differ in two bits, each one permanent bit that is shown through two channels."""

    def chance(bit: bool, true: bool) -> float:
        """Probability of nothing but that bit, in all reports."""
        total = 0.0
        for permanent in (False, True):
            law = 1 - first.flip if permanent == true else first.flip
            for mechanism, shown in ((first, times), (second, more)):
                one = mechanism.response[permanent]
                law *= (one if bit else 1 - one) ** shown
            total += law
        return total

    return math.log(chance(True, True) / chance(True, False)) + math.log(chance(False, False) / chance(False, True))


# What is refused.


def test_a_budget_buys_exactly_what_it_says() -> None:
    collection = collection_of(2, 3, 4)
    reports = 5
    budget = collection.mechanism.epsilon(reports=reports)
    before = Spending()
    for _ in range(reports):
        after = spent(collection, [(1, 1, 1)], before=before)
        check_terms(Terms(budget=budget), before, after, time_ms=0)
        before = after
    after = spent(collection, [(1, 1, 1)], before=before)
    with pytest.raises(BudgetExceeded, match=r"0\.000 are left of a budget of 5\.4") as refusal:
        check_terms(Terms(budget=budget), before, after, time_ms=0)
    assert refusal.value.left == 0.0
    assert refusal.value.cost == collection.mechanism.epsilon(reports=reports + 1) - budget
    with pytest.raises(BudgetExceeded):
        check_terms(Terms(budget=math.nextafter(budget, 0)), Spending(), before, time_ms=0)


def test_a_refusal_names_what_is_left_and_what_the_report_would_cost() -> None:
    collection = collection_of(2, 3)
    before = spent(collection, [(0, 0)])
    after = spent(collection, [(0, 0)], before=before)
    # One report costs 1.07426, the second 0.94277 more; 1.9 leave 0.82574 for it.
    with pytest.raises(BudgetExceeded, match=r"would cost 0\.943 nats of privacy, and 0\.825 are left") as refusal:
        check_terms(Terms(budget=1.9), before, after, time_ms=0)
    assert refusal.value.left == pytest.approx(1.9 - collection.mechanism.epsilon(), abs=1e-12)


def test_a_budget_lowered_below_what_was_spent_leaves_zero() -> None:
    before = spent(collection_of(2), [(0,)] * 3)
    with pytest.raises(BudgetExceeded) as refusal:
        check_terms(Terms(budget=0.1), before, spent(collection_of(2), [(0,)], before=before), time_ms=0)
    assert refusal.value.left == 0.0


@pytest.mark.parametrize("most", [1, 2, 3])
def test_no_more_values_are_memoised_than_are_agreed_to(most: int) -> None:
    collection = collection_of(2, 5)
    terms = Terms(assumption=Assumption.VALUES, max_values=most)
    before = spent(collection, [(0, value) for value in range(most)])
    check_terms(terms, Spending(), before, time_ms=0)
    check_terms(terms, before, spent(collection, [(0, most - 1)], before=before), time_ms=0)
    with pytest.raises(TooManyValues, match=r"the answer about attribute-1 has had") as refusal:
        check_terms(terms, before, spent(collection, [(0, most)], before=before), time_ms=0)
    assert refusal.value.attribute == "attribute-1"
    assert "value-" not in str(refusal.value)


def test_several_new_values_in_one_call_are_each_counted() -> None:
    with pytest.raises(TooManyValues):
        check_terms(Terms(), Spending(), spent(collection_of(2), [(0,), (1,)]), time_ms=0)


def test_stricter_terms_allow_known_values_and_refuse_new_ones() -> None:
    """Terms may become stricter: what is memoised stays, and nothing is added."""
    collection = collection_of(3)
    before = spent(collection, [(0,), (1,)])
    check_terms(Terms(), before, spent(collection, [(1,)], before=before), time_ms=0)
    with pytest.raises(TooManyValues):
        check_terms(Terms(), before, spent(collection, [(2,)], before=before), time_ms=0)


# Laws.

COLLECTIONS = [
    collection_of(2, 3),
    collection_of(2, 3, noise=OTHER_RESPONSE),
    collection_of(3, noise=RESPONSES[-1], name="another"),
]

reported = st.lists(
    st.tuples(st.sampled_from(COLLECTIONS), st.tuples(st.integers(0, 1), st.integers(0, 2)), st.booleans()),
    max_size=12,
)


def after_all(history: Iterable[tuple[JointCollection, Record, bool]]) -> list[Spending]:
    """The spending before, between and after these reports."""
    states = [Spending()]
    for collection, record, fresh in history:
        values = [record[: len(collection.sizes)]]
        states.append(states[-1].after(charges(collection, values, secret=bytes(32), tag_key=None if fresh else KEY)))
    return states


@given(reported)
def test_a_report_never_lowers_what_is_spent(history: list[tuple[JointCollection, Record, bool]]) -> None:
    epsilons = [spending.epsilon for spending in after_all(history)]
    for before, after in itertools.pairwise(epsilons):
        assert after >= before * (1 - 1e-15), "but for the last bit of a sum that is rounded up"


@given(reported)
def test_a_report_without_a_new_value_costs_no_more_than_it_would_alone(
    history: list[tuple[JointCollection, Record, bool]],
) -> None:
    """Unless it shows a new value, which makes those reports dearer that may have been shared out worse."""
    for (collection, _, _), (before, after) in zip(history, itertools.pairwise(after_all(history)), strict=True):
        shown = [each for account in after.accounts for each in account.responses]
        if list(map(before.values_of, shown)) == list(map(after.values_of, shown)):
            assert after.epsilon - before.epsilon <= collection.mechanism.epsilon() + 1e-9


@given(reported, reported)
def test_collections_that_share_no_response_cost_their_sum(
    first: list[tuple[JointCollection, Record, bool]], second: list[tuple[JointCollection, Record, bool]]
) -> None:
    first = [each for each in first if each[0].name == "survey"]
    second = [each for each in second if each[0].name == "another"]
    apart = after_all(first)[-1].epsilon + after_all(second)[-1].epsilon
    assert after_all([*first, *second])[-1].epsilon == pytest.approx(apart, abs=1e-9)


@given(reported, st.randoms(use_true_random=False))
def test_the_order_of_reports_does_not_change_what_they_cost(
    history: list[tuple[JointCollection, Record, bool]], random: object
) -> None:
    shuffled = list(history)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert after_all(shuffled)[-1].epsilon == pytest.approx(after_all(history)[-1].epsilon, rel=1e-15)


@given(reported)
def test_what_is_read_back_is_what_was_written_down(history: list[tuple[JointCollection, Record, bool]]) -> None:
    spending = after_all(history)[-1]
    book = Book(terms=Terms(), spending=spending)
    assert book_of(json_of(book)) == book


@given(st.integers(1, 40), st.integers(1, 5))
def test_no_division_of_reports_among_values_costs_more_than_the_even_one(reports: int, distinct: int) -> None:
    """The law behind `values`: epsilon of t reports is concave in t."""
    distinct = min(distinct, reports)
    mechanism = RRLDP(sizes=(5,), **SURVEY)
    charged = spent(collection_of(5), [(min(time, distinct - 1),) for time in range(reports)]).epsilon
    for first in range(1, reports - distinct + 2):
        # The first value has `first` reports, the others share out the rest; the last takes what remains.
        rest, others = reports - first, distinct - 1
        shares = [
            first,
            *([rest // others] * (others - 1) + [rest - rest // others * (others - 1)] if others else []),
        ]
        if sum(shares) == reports and min(shares) > 0:
            assert sum(mechanism.epsilon(reports=share) for share in shares) <= charged + 1e-9


def test_a_ledger_without_reports_has_spent_nothing() -> None:
    assert Spending().epsilon == 0.0
    assert Spending().assumption is Assumption.FRESH


def test_a_ledger_tells_neither_a_value_nor_which_came_first() -> None:
    collection = collection_of(2, 3)
    forwards = spent(collection, [(1, 2), (0, 1), (0, 0)])
    backwards = spent(collection, [(0, 0), (0, 1), (1, 2)])
    assert forwards == backwards
    assert b"value-" not in json_of(Book(terms=Terms(), spending=forwards))
    # Without the key, a tag of every value looks like any other number.
    guessed = charges(collection, [(1, 2), (0, 1), (0, 0)], secret=bytes(32), tag_key=bytes(32))
    tags = {tag for account in forwards.accounts for shown in account.tags for tag in shown}
    assert tags.isdisjoint(tag for each in guessed for tag in each.tags or ())
    assert isinstance(forwards.accounts[0], Account)


# Answers to phases: what they cost, once an epoch, and no more than agreed.


METHODS = [
    "{kind: gfim, epsilon: 1, k: 2, set_size: 3}",
    "{kind: gfim-users, epsilon: 1, k: 2, set_size: 3}",
    "{kind: ldpminer, epsilon: 1, k: 2, set_size: 3}",
    "{kind: svim, epsilon: 1, k: 2}",
]


epsilons = st.floats(0.001, 8.0)


def item_collection_of(method: str = METHODS[0], *, name: str = "films", size: str = "60s") -> ItemCollection:
    return ItemCollection.parse(
        f"collection: {name}\nmechanism: {method}\nitems: {{size: 8}}\nwindow: {{size: {size}, grace: 1s}}\n"
    )


FILMS = item_collection_of()


RECORDS = JointCollection.parse(
    "collection: survey\nmechanism: {kind: rr-ldp, f: 0.5, p: 0.5, q: 0.75}\n"
    "attributes: [{name: smokes, values: [no, yes]}]\nwindow: {size: 60s}\n"
    "estimates: [{name: smokes, of: [smokes]}]\n"
)


def after(spending: Spending, *answers: tuple[int, int], collection: ItemCollection = FILMS) -> Spending:
    """With answers to (epoch, phase)."""
    for epoch, phase in answers:
        asked: Any = SimpleNamespace(phase=phase, epoch=epoch)
        spending = spending.after(of_sets(collection, ItemSets.of([[0]]), asked=asked, secret=KEY, tag_key=None))
    return spending


def priced(epoch: int, phase: int, epsilon: float) -> PhaseReport:
    return PhaseReport(collection="films", fingerprint="00", phase=phase, epoch=epoch, epsilon=epsilon)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("epochs", [1, 7, 1_000])
def test_the_most_that_a_user_pays_is_the_methods_epsilon_per_epoch(method: str, epochs: int) -> None:
    collection = item_collection_of(method)
    most = 0.0
    for word in {phase.share[0] for phase in collection.method.phases}:
        mine = [phase for phase in collection.method.phases if phase.share[0] <= word < phase.share[1]]
        spending = after(
            Spending(), *((epoch, phase.number) for epoch in range(epochs) for phase in mine), collection=collection
        )
        most = max(most, spending.epsilon)
    assert most == epochs * epoch_epsilon(collection.method) == epochs * 1.0


@given(st.lists(st.tuples(st.integers(1, 3), epsilons), max_size=12))
def test_a_sum_is_rounded_up_by_at_most_the_last_digit(answers: list[tuple[int, float]]) -> None:
    spending = Spending()
    for epoch, (phase, epsilon) in enumerate(answers):
        spending = spending.after([priced(epoch, phase, epsilon)])
    exact = sum((Fraction(epsilon) for _, epsilon in answers), Fraction())
    assert exact <= Fraction(spending.epsilon)
    assert Fraction(math.nextafter(spending.epsilon, -math.inf)) < exact or not answers


@given(st.lists(st.sampled_from([(0, 0), (1, 0), (0, 1)]), max_size=6), st.integers(0, 6))
def test_reports_of_records_and_of_item_sets_add_up_in_one_ledger(
    reports: list[tuple[int, int]], epochs: int
) -> None:
    values = [(value,) for value, _ in reports]
    records = Spending().after(charges(RECORDS, values, secret=bytes(32), tag_key=None))
    answered = after(Spending(), *((epoch, 1) for epoch in range(epochs)))
    both = after(records, *((epoch, 1) for epoch in range(epochs)))
    assert both.epsilon == pytest.approx(records.epsilon + answered.epsilon, abs=1e-12)
    assert both == answered.after(charges(RECORDS, values, secret=bytes(32), tag_key=None))
    assert both.assumption is Assumption.FRESH


def test_a_change_of_prices_does_not_change_what_was_spent() -> None:
    spending = Spending().after([priced(1, 1, 0.5)]).after([priced(2, 1, 0.75)]).after([priced(3, 1, 0.5)])
    assert spending.epsilon == 1.75
    for epoch, price in ((1, 0.75), (2, 0.5), (3, 0.75)):
        with pytest.raises(AlreadyReported):
            spending.after([priced(epoch, 1, price)])


def test_a_ledger_has_one_account_for_each_phase_however_many_reports() -> None:
    spending = after(Spending(), *((epoch, phase) for epoch in range(50) for phase in (1, 2)))
    assert [(each.phase, each.reports, each.epochs) for each in spending.phases] == [
        (1, 50, ((0, 49),)),
        (2, 50, ((0, 49),)),
    ]


class Answering(RuleBasedStateMachine):
    """A ledger against the list of all that was answered, with files between and clocks that go back."""

    def __init__(self) -> None:
        super().__init__()
        self.spending = Spending()
        self.answered: list[tuple[str, int, int]] = []
        self.collections = {
            "films": FILMS,
            "others": item_collection_of(name="others"),
            "films anew": item_collection_of(size="30s"),
        }

    @rule(
        name=st.sampled_from(["films", "others", "films anew"]),
        phase=st.integers(1, 3),
        epoch=st.integers(-1, 4),
    )
    def answer(self, name: str, phase: int, epoch: int) -> None:
        asked, collection = (epoch, phase), self.collections[name]
        if (name, phase, epoch) in self.answered:
            with pytest.raises(AlreadyReported, match=rf"phase {phase} of epoch {epoch} of collection"):
                after(self.spending, asked, collection=collection)
            return
        self.spending = after(self.spending, asked, collection=collection)
        self.answered.append((name, phase, epoch))

    @rule()
    def restart(self) -> None:
        self.spending = book_of(json_of(Book(terms=Terms(), spending=self.spending))).spending

    @invariant()
    def counts_each_answer(self) -> None:
        prices = [self.collections[name].method.phases[phase - 1].epsilon for name, phase, _ in self.answered]
        assert self.spending.epsilon == pytest.approx(math.fsum(prices), abs=1e-12)


test_a_phase_gets_one_report_an_epoch = Answering.TestCase


def test_a_clock_that_was_50_years_ahead_for_a_while_does_not_end_a_users_reports() -> None:
    ahead = 50 * 365 * 8_640
    spending = after(Spending(), (100, 1), *((100 + ahead + wrong, 1) for wrong in range(200)), (101, 1), (103, 1))
    assert spending.phases[0].reports == 203
    for epoch in (100, 101, 103, 100 + ahead):
        with pytest.raises(AlreadyReported):
            after(spending, (epoch, 1))
    after(spending, (102, 1), (104, 1))


@given(st.lists(st.integers(0, 10_000), min_size=1, max_size=300, unique=True))
def test_an_account_stays_small_and_forgets_no_epoch(epochs: list[int]) -> None:
    spending, reported = Spending(), list[int]()
    for epoch in epochs:
        try:
            spending = after(spending, (epoch, 1))
        except AlreadyReported:
            assert len(reported) >= MAX_RANGES, "only an account that is full may forget which epochs are free"
            continue
        reported.append(epoch)
    (account,) = spending.phases
    assert account.reports == len(reported)
    assert len(account.epochs) <= MAX_RANGES
    assert all(account.is_over(epoch) for epoch in reported)
    assert all(first[1] + 1 < second[0] for first, second in itertools.pairwise(account.epochs))


# Days, and the book.


def test_a_day_is_charged_what_its_reports_have_added() -> None:
    survey = collection_of(2, 3)
    spending = Spending()
    costs = [survey.mechanism.epsilon(reports=1), survey.mechanism.epsilon(reports=2)]
    for day in (5, 5, 6):
        spending = spent(survey, [(1, 1)], before=spending).on_day(day, since=spending)
    assert spending.spent_on(4) == 0.0
    assert spending.spent_on(5) == costs[1]
    assert spending.spent_on(6) == pytest.approx(spending.epsilon - costs[1], abs=1e-12)
    assert sum(each.spent for each in spending.days) >= spending.epsilon


def test_a_clock_that_goes_to_and_fro_between_days_renews_no_day() -> None:
    spending = Spending()
    for epoch, day in enumerate([100, 18_000, 100, 18_000, 100]):
        spending = after(spending, (epoch, 1)).on_day(day, since=spending)
    price = FILMS.method.phases[0].epsilon
    assert spending.spent_on(100) == pytest.approx(3 * price, rel=1e-12)
    assert spending.spent_on(18_000) == pytest.approx(2 * price, rel=1e-12)
    for epoch in range(10, 30):
        spending = after(spending, (epoch, 1)).on_day(epoch, since=spending)
    assert [each.day for each in spending.days] == list(range(30 - MAX_DAYS, 30))


DAY_MS = 86_400_000
WEEK_MS = 7 * DAY_MS
PRICE = FILMS.method.phases[0].epsilon


@given(times=st.lists(st.integers(0, 5 * WEEK_MS), min_size=1, max_size=12))
def test_no_week_costs_more_than_its_budget_wherever_it_begins(times: list[int]) -> None:
    """The ledger's own sums are not used: each report that is allowed is added up here."""
    terms = Terms(budget=math.inf, per_span=2.5 * PRICE, span_days=7)
    spending, charged = Spending(), list[tuple[int, float]]()
    for epoch, time_ms in enumerate(sorted(times)):
        made = after(spending, (epoch, 1)).in_span(terms.span_ms, time_ms=time_ms, since=spending)
        try:
            check_terms(terms, spending, made, time_ms=time_ms)
        except SpanBudgetExceeded:
            continue
        charged.append((time_ms, made.epsilon - spending.epsilon))
        spending = made
    assert charged
    for begin, _ in charged:
        assert (
            math.fsum(cost for time_ms, cost in charged if begin <= time_ms < begin + WEEK_MS) <= 2.5 * PRICE + 1e-9
        )


def test_a_budget_of_days_renews_a_part_after_them_and_remembers_no_more() -> None:
    terms = Terms(budget=math.inf, per_span=1.5 * PRICE, span_days=7)
    first = after(Spending(), (1, 1)).in_span(terms.span_ms, time_ms=5, since=Spending())
    assert [each.end_ms for each in first.recent] == [WEEK_MS // 64]
    second = after(first, (2, 1))
    for late_ms, allowed in ((WEEK_MS - 1, False), (WEEK_MS + WEEK_MS // 64 + 5, True)):
        made = second.in_span(terms.span_ms, time_ms=late_ms, since=first)
        if allowed:
            check_terms(terms, first, made, time_ms=late_ms)
        else:
            with pytest.raises(SpanBudgetExceeded, match="in any 7 days: nothing was sent") as refused:
                check_terms(terms, first, made, time_ms=late_ms)
            assert refused.value.renews
    assert len(second.in_span(terms.span_ms, time_ms=3 * WEEK_MS, since=first).recent) == 1
    assert second.in_span(0, time_ms=5, since=first).recent == ()


def test_a_clock_that_was_ahead_renews_no_days() -> None:
    terms = Terms(budget=math.inf, per_span=1.5 * PRICE, span_days=7)
    first = after(Spending(), (1, 1)).in_span(terms.span_ms, time_ms=0, since=Spending())
    ahead = after(first, (2, 1)).in_span(terms.span_ms, time_ms=WEEK_MS + DAY_MS, since=first)
    for time_ms in (DAY_MS, WEEK_MS - 1, 2 * WEEK_MS):
        made = after(ahead, (3, 1)).in_span(terms.span_ms, time_ms=time_ms, since=ahead)
        with pytest.raises(SpanBudgetExceeded):
            check_terms(terms, ahead, made, time_ms=time_ms)


def test_days_begin_at_midnight_utc() -> None:
    assert [day_of(time_ms) for time_ms in (-1, 0, 86_399_999, 86_400_000)] == [-1, 0, 0, 1]


@pytest.mark.parametrize("terms", [Terms(), Terms(budget=math.inf, per_day=0.5, assumption=Assumption.FRESH)])
def test_a_book_is_read_as_it_was_written(terms: Terms) -> None:
    book = Book(terms=terms, spending=after(Spending(), (1, 1), (2, 2)).on_day(3, since=Spending()))
    assert book_of(json_of(book)) == book


def test_a_book_from_before_there_were_turns_and_budgets_of_days_is_read_with_all_it_has_spent() -> None:
    spending = after(Spending(), (1, 1), (2, 2))
    document = json.loads(json_of(Book(terms=Terms(per_day=1.0), spending=spending)))
    for part, names in (("spending", ("turns", "recent")), ("terms", ("per_span", "span_days"))):
        for name in names:
            del document[part][name]
    assert book_of(json.dumps(document).encode()) == Book(terms=Terms(per_day=1.0), spending=spending)


# What the sum promises.


def test_reports_of_a_changed_record_with_fresh_noise_are_not_reported_to_be_of_a_constant_one() -> None:
    survey = collection_of(2)
    constant = spent(survey, [(0,), (0,)])
    assert constant.promise == Assumption.CONSTANT.promise
    mixed = constant.after(charges(survey, [(1,)], secret=bytes(32), tag_key=None))
    assert (
        mixed.promise == f"{Assumption.CONSTANT.promise}; in reports with fresh permanent noise, anything may change"
    )
    assert mixed.epsilon == pytest.approx(constant.epsilon + survey.mechanism.epsilon(), rel=1e-12)
    assert spent_afresh(survey, [(0,), (1,)]).promise == Assumption.FRESH.promise


def test_the_loss_of_constant_and_fresh_reports_is_what_an_attacker_gains_who_compares_them() -> None:
    """Two constant reports, then a fresh one of another value: no pair of such users loses more than is charged."""
    survey = collection_of(2)
    enumeration = Enumeration.realised(survey.mechanism)
    charged = spent(survey, [(0,), (0,)]).after(charges(survey, [(1,)], secret=bytes(32), tag_key=None)).epsilon
    constant = enumeration.histories_epsilon([(0,), (0,)], [(1,), (1,)])
    # Fresh noise is independent of all else, so that the losses of the two parts add up.
    fresh = enumeration.histories_epsilon([(1,)], [(0,)])
    assert constant + fresh == pytest.approx(charged, abs=1e-12)


@given(st.floats(0.1, 5.0), st.lists(st.tuples(st.integers(0, 20), st.integers(1, 3)), max_size=20))
def test_a_budget_can_be_used_up_and_is_never_exceeded(budget: float, asked: list[tuple[int, int]]) -> None:
    terms, spending, exact = Terms(budget=budget), Spending(), Fraction()
    for each in asked:
        try:
            would_be = after(spending, each)
        except AlreadyReported:
            continue
        price = Fraction(FILMS.method.phases[each[1] - 1].epsilon)
        if exact + price > budget:
            with pytest.raises(BudgetExceeded) as refusal:
                check_terms(terms, spending, would_be, time_ms=0)
            assert refusal.value.left == budget - spending.epsilon
            continue
        check_terms(terms, spending, would_be, time_ms=0)
        spending, exact = would_be, exact + price
    assert spending.epsilon <= budget


def test_rounding_does_not_cost_a_budget_its_last_report() -> None:
    asked = [(epoch, phase) for epoch in range(10) for phase in (1, 2)]
    before, everything = after(Spending(), *asked[:-1]), after(Spending(), *asked)
    check_terms(Terms(budget=10.0), before, everything, time_ms=0)


def test_a_book_that_was_read_is_charged_to_the_accounts_that_it_has() -> None:
    once = spent(collection_of(2, 3), [(1, 2)])
    read = book_of(json_of(Book(terms=Terms(), spending=once))).spending
    twice = spent(collection_of(2, 3), [(1, 2)], before=read)
    assert [account.memoised for account in twice.accounts] == [2]
    assert twice == spent(collection_of(2, 3), [(1, 2)], before=once)
