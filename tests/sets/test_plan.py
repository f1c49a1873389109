"""These tests hold a plan to what it promises of an item collection before anything runs."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from stream_ldp.ledger.ledger import Spending
from stream_ldp.mechanisms import SeededEntropy
from stream_ldp.sets.collection import ItemCollection
from stream_ldp.sets.evaluation import run_epoch
from stream_ldp.sets.item_sets import ItemSets
from stream_ldp.sets.plan import plan, published, published_of_phases, solve_times
from stream_ldp.sets.reports import charges
from tests.client.rankings import films as ranked
from tests.plans import text_of

TEXT = """
collection: films
mechanism: {{{mechanism}}}
items: {{size: 32}}
window: {{size: 60s, grace: 5s}}
epochs: {epochs}
"""
GFIM = "kind: gfim, epsilon: 2, k: 4, finalists: 6, set_size: 3"
METHODS = [
    GFIM,
    "kind: gfim, epsilon: 2, k: 4, finalists: 6, set_size: 3, hash_bits: 1, combine: paper",
    "kind: gfim-users, epsilon: 2, k: 4, finalists: 6, set_size: 3",
    "kind: ldpminer, epsilon: 2, k: 4, set_size: 3",
    "kind: svim, epsilon: 2, k: 4, k_max: 8, set_size: 3",
]


def films(mechanism: str = GFIM, *, epochs: str = "sequential") -> ItemCollection:
    return ItemCollection.parse(TEXT.format(mechanism=mechanism, epochs=epochs))


@pytest.mark.parametrize("mechanism", METHODS[:4])
def test_the_expected_error_is_that_of_epochs_in_which_nobody_holds_anything(mechanism: str) -> None:
    # All items stay candidates, or those of them that come out high would not be as wrong as any.
    everything = mechanism.replace("k: 4", "k: 32, k_max: 32").replace("finalists: 6", "finalists: 32")
    collection, users, repeats = films(everything), 2_000, 60
    nobody = ItemSets.of([[]] * users)
    found = [run_epoch(collection.method, nobody, entropy=SeededEntropy(seed)).frequency for seed in range(repeats)]
    (planned,) = plan(collection, populations=[users]).phases[-1].errors
    # The standard deviation of 1,920 frequencies, hardly dependent, is within 8 % of the truth but for one seed in a
    # million.
    assert np.std(found) == pytest.approx(planned.standard_error, rel=0.08)


def test_items_that_nobody_holds_rarely_exceed_the_smallest_detectable_frequency() -> None:
    collection, users = films("kind: ldpminer, epsilon: 2, k: 32, k_max: 32, set_size: 1"), 20_000
    (planned,) = plan(collection, populations=[users]).phases[-1].errors
    nobody = ItemSets.of([[]] * users)
    above = [
        run_epoch(collection.method, nobody, entropy=SeededEntropy(seed)).frequency.max() > planned.smallest
        for seed in range(40)
    ]
    # Expected in 2 of 40; in 9 or more once in 3,000.
    assert sum(above) < 9
    assert planned.smallest == pytest.approx(2.96 * planned.standard_error, rel=0.01)


def test_the_planned_cost_of_epochs_is_never_rounded_down() -> None:
    for epsilon in (2.9, 3.3, 19.997):
        once, *more = plan(films(f"kind: ldpminer, epsilon: {epsilon}, k: 2, set_size: 1")).privacy
        for spent in more:
            assert Fraction(spent.epsilon) >= spent.epochs * Fraction(once.epsilon)


@pytest.mark.parametrize("mechanism", METHODS)
def test_the_planned_cost_of_epochs_is_the_most_the_ledger_charges_a_user(mechanism: str) -> None:
    collection = films(mechanism)
    planned = plan(collection)
    dearest = 0.0
    for word in np.linspace(0, 2**32 - 1, 101).astype(np.uint32):
        spending = Spending()
        for phase in collection.method.phases:
            if phase.asks(np.array([word]))[0]:
                asked: Any = SimpleNamespace(phase=phase.number, epoch=1)
                report = charges(collection, ItemSets.of([[0]]), asked=asked, secret=bytes(32), tag_key=None)
                spending = spending.after(report)
        dearest = max(dearest, spending.epsilon)
    assert {spent.epochs: spent.epsilon for spent in planned.privacy} == pytest.approx(
        {epochs: epochs * dearest for epochs in (1, 7, 30, 365)}
    )


@pytest.mark.parametrize(
    ("mechanism", "items"),
    list(zip(METHODS, [[32, 12, 6], [32, 12, 6], [32, 12, 6], [32, 12], [32, 8, 8]], strict=True)),
)
def test_each_phase_is_planned_for_the_items_it_will_ask_about(mechanism: str, items: list[int]) -> None:
    method = films(mechanism).method
    phases = plan(films(mechanism)).phases
    assert [phase.items for phase in phases] == items
    oracle = method.oracle(method.first())
    first = phases[0]
    assert (first.bits, first.counters, first.state_bytes) == (oracle.bits, oracle.counters, 8 * oracle.counters)


def test_sequential_epochs_give_a_result_each_epoch_and_pipelined_ones_each_window() -> None:
    sequential, pipelined = plan(films()), plan(films(epochs="pipelined"))
    assert (sequential.epoch_ms, sequential.result_every_ms) == (180_000, 180_000)
    assert (pipelined.epoch_ms, pipelined.result_every_ms) == (180_000, 60_000)


def test_a_phase_that_counts_candidates_has_no_expected_error() -> None:
    planned = plan(films("kind: svim, epsilon: 2, k: 4, set_size: 3"))
    assert [bool(phase.errors) for phase in planned.phases] == [True, False, True]


def test_a_phase_that_shows_an_order_alone_has_no_expected_error() -> None:
    planned = plan(films("kind: gfim, epsilon: 2, k: 4"))
    assert [bool(phase.errors) for phase in planned.phases] == [False, True, True]
    assert "Phase 1 decides what becomes a candidate; phase 3 gives the result. Of a set" in text_of(planned)


def sampled(collection: ItemCollection, sample: float) -> ItemCollection:
    return ItemCollection.model_validate({**collection.document, "sample": sample})


@pytest.mark.parametrize("mechanism", METHODS)
def test_a_sample_makes_a_day_cheaper_a_budget_last_longer_and_errors_larger(mechanism: str) -> None:
    everybody, some = plan(films(mechanism)), plan(sampled(films(mechanism), 0.01))
    assert some.nats_per_day == pytest.approx(0.01 * everybody.nats_per_day, rel=1e-6)
    assert some.privacy == everybody.privacy, "of the epochs that ask"
    for one, other in zip(everybody.budgets, some.budgets, strict=True):
        assert (one.budget, one.times) == (other.budget, other.times)
        assert other.days == pytest.approx(100 * one.days)
    for phase, same in zip(everybody.phases, some.phases, strict=True):
        for error, larger in zip(phase.errors, same.errors, strict=True):
            assert larger.standard_error == pytest.approx(10 * error.standard_error, rel=1e-4)


@pytest.mark.parametrize("epochs", ["sequential", "pipelined"])
def test_a_day_costs_what_its_epochs_cost_and_a_budget_lasts_as_many_as_it_pays_for(epochs: str) -> None:
    planned = plan(films("kind: svim, epsilon: 0.5, k: 2", epochs=epochs))
    in_a_day = {"sequential": 480, "pipelined": 1_440}[epochs]
    assert planned.nats_per_day == pytest.approx(0.5 * in_a_day)
    assert [(each.budget, each.times) for each in planned.budgets] == [(1, 2), (2, 4), (4, 8), (8, 16)]
    assert [each.days for each in planned.budgets] == [each.times / in_a_day for each in planned.budgets]


def test_its_text_says_what_each_phase_asks_and_costs() -> None:
    text = text_of(plan(films()))
    for part in ("gfim, for the top 4 of 32 items", "3 phases, 3m", "a result every 3m", "365 | 730.000"):
        assert part in text
    assert "2 | 50% | items of 12, l = 3 | 0.800 | " in text


@pytest.mark.parametrize(
    ("mechanism", "said"),
    [
        ("epsilon: 2, k: 4", "set size | 10% of the users are asked for it, in phase 1 and for nothing else"),
        ("kind: gfim-users, epsilon: 2, k: 4", "set size | not known: with `set_size: ask`, a tenth of the users"),
        ("epsilon: 3, k: 4, set_size: 3", "set size | at most 3 items, or nearly so"),
    ],
)
def test_its_text_says_what_is_known_of_the_size_of_sets(mechanism: str, said: str) -> None:
    assert said in text_of(plan(films(mechanism)))


def test_its_text_says_who_is_asked_for_sizes_and_which_phase_finds_candidates() -> None:
    text = text_of(plan(films("epsilon: 2, k: 4")))
    assert "1 | 10% | how large a set is, as a power of two | 2.000 | " in text
    assert "Phase 2 decides what becomes a candidate; phase 4 gives the result." in text
    # Of a sample, the share is that of the users who are asked at all.
    assert "set size | 10% of the users" in text_of(plan(sampled(films("epsilon: 2, k: 4"), 0.01)))


def test_the_errors_after_sizes_are_those_of_the_set_size_that_it_names() -> None:
    asked, told = plan(films("epsilon: 2, k: 4")), plan(films("kind: gfim-users, epsilon: 2, k: 4, set_size: 8"))
    assert "errors are stated for 8," in asked.set_size
    # The rankings of phases 2 and 3 have no errors.
    assert [bool(phase.errors) for phase in asked.phases] == [False, False, False, True]
    # A tenth of the users is asked for sizes.
    for error, known in zip(asked.phases[-1].errors, told.phases[-1].errors, strict=True):
        assert error.standard_error == pytest.approx(known.standard_error / 0.9**0.5, rel=1e-3)


def test_reports_that_show_a_permanent_response_have_a_cost_of_all_epochs() -> None:
    planned = plan(films("kind: loloha, epsilon: 1, k: 4, set_size: 3"))
    assert "all, unchanged | " in text_of(planned)


def test_its_text_says_what_a_day_costs_and_how_long_a_budget_lasts() -> None:
    assert "960 nats a day on average" in text_of(plan(films()))
    text = text_of(plan(sampled(films(), 0.001)))
    assert "each epoch asks | 0.10% of the users" in text
    assert "0.96 nats a day on average" in text
    assert "8 | 4 | 8.3 days" in text


BASKETS = "kind: svim, epsilon: 4, k: 8"


def baskets() -> ItemCollection:
    return ItemCollection.parse(
        TEXT.format(mechanism=BASKETS, epochs="sequential") + "itemsets: {k: 8, sizes: [2]}\n"
    )


def test_readers_learn_as_much_of_the_users_of_an_epoch_as_its_final_says() -> None:
    collection = films("kind: svim, epsilon: 2, k: 4")
    planned = published(collection, 20_000)
    assert planned is not None
    assert planned == published_of_phases(collection, (8_000, 2_000, 10_000))
    assert "among 8,000 + 2,000 + 10,000 honest reports" in planned.assumption
    assert published(collection, 1) is not None, "a phase of nobody would show nothing"


def test_the_error_of_itemsets_is_that_which_answers_state() -> None:
    """Seeded; with 12 seeds it is 0.55 to 0.91 of theirs, and 0.1 without the doubt about larger sets."""
    collection, users = baskets(), 20_000
    (planned,) = plan(collection, populations=[users]).phases[-1].errors
    generator = np.random.default_rng(1)
    chances = 0.6 * np.arange(1, 33) ** -0.7
    held = ItemSets.of([np.flatnonzero(generator.random(32) < chances).tolist() for _ in range(users)])
    for seed in range(3):
        found = run_epoch(collection.method, held, entropy=SeededEntropy(seed))
        for frequency, error in zip(found.frequency[:3], found.standard_error[:3], strict=True):
            assert planned.of_frequency(frequency) == pytest.approx(error, rel=0.5)


def test_items_and_itemsets_have_headings_of_their_own() -> None:
    items, itemsets = text_of(plan(baskets())).split("Standard error of an itemset's frequency")
    assert "after phase 3" in items
    assert "after phase 5" not in items
    assert "phase 3 gives the result" in items
    assert "users | nobody holds it / clearly above 0 | 10% hold it | 30% hold it" in itemsets


def test_every_phase_is_measured_once_whatever_the_number_of_reports() -> None:
    measured: list[float] = []

    def timer(work: Callable[[], object]) -> float:
        assert work() is not None
        measured.append(float(len(measured) + 1))
        return measured[-1]

    times = list(solve_times(ranked(), populations=[10, 1_000], timer=timer))
    assert measured == [1.0, 2.0]
    assert [(each.series, each.reports, each.later_s) for each in times] == [
        ("phase-1", 10, 1.0),
        ("phase-1", 1_000, 1.0),
        ("phase-2", 10, 2.0),
        ("phase-2", 1_000, 2.0),
    ]
