"""Tests of item sets: two arrays hold the sets that they are made of."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_ldp.sets.item_sets import ItemSets, class_count, class_names, classes_of, largest_of, largest_padding

DOMAIN = 12
SETS = st.lists(st.lists(st.integers(0, DOMAIN - 1), max_size=6), max_size=8)


def listed(sets: ItemSets) -> list[list[int]]:
    """List each user's items in their order."""
    return [sets.items[start:end].tolist() for start, end in zip(sets.offsets[:-1], sets.offsets[1:], strict=True)]


@given(SETS)
def test_a_repeated_item_is_held_once_and_nothing_else_changes(given_sets: list[list[int]]) -> None:
    sets = ItemSets.of(given_sets)
    assert listed(sets) == [list(dict.fromkeys(each)) for each in given_sets]
    assert len(sets) == len(given_sets)
    assert sets.sizes.tolist() == [len(set(each)) for each in given_sets]


@given(SETS, st.data())
def test_users_are_taken_in_the_requested_order_repeats_included(
    given_sets: list[list[int]], data: st.DataObject
) -> None:
    sets = ItemSets.of(given_sets)
    users = data.draw(st.lists(st.integers(0, len(sets) - 1), max_size=10)) if len(sets) else []
    taken = sets.take(np.array(users, dtype=np.int64))
    assert listed(taken) == [listed(sets)[user] for user in users]


@given(SETS, st.permutations(range(DOMAIN)), st.integers(0, DOMAIN))
def test_a_restricted_set_holds_the_candidate_positions_of_its_items(
    given_sets: list[list[int]], order: list[int], count: int
) -> None:
    candidates = order[:count]
    sets = ItemSets.of(given_sets)
    restricted = sets.restricted(np.array(candidates, dtype=np.int64), domain=DOMAIN)
    assert listed(restricted) == [
        [candidates.index(item) for item in each if item in candidates] for each in listed(sets)
    ]


@given(SETS)
def test_a_complement_holds_what_a_set_lacks(given_sets: list[list[int]]) -> None:
    sets = ItemSets.of(given_sets)
    assert listed(sets.complement(DOMAIN)) == [
        [item for item in range(DOMAIN) if item not in each] for each in given_sets
    ]


ITEMSETS = st.lists(st.lists(st.integers(0, DOMAIN - 1), min_size=1, max_size=3, unique=True).map(sorted), min_size=1)


@given(SETS, ITEMSETS)
def test_a_set_restricted_to_itemsets_holds_the_positions_of_those_within_it(
    given_sets: list[list[int]], itemsets: list[list[int]]
) -> None:
    sets = ItemSets.of(given_sets)
    candidates = np.array([each + [-1] * (3 - len(each)) for each in itemsets])
    assert listed(sets.restricted(candidates, domain=DOMAIN)) == [
        [place for place, itemset in enumerate(itemsets) if set(itemset) <= set(each)] for each in listed(sets)
    ]


def test_frequencies_are_fractions_of_all_users_including_those_who_hold_nothing() -> None:
    sets = ItemSets.of([[0, 2], [2], [], [2, 0, 0]])
    assert sets.frequencies(4).tolist() == [0.5, 0.0, 0.75, 0.0]
    assert ItemSets.of([]).frequencies(2).tolist() == [0.0, 0.0]


def test_a_class_holds_the_sizes_up_to_a_power_of_two() -> None:
    sizes = np.array([0, 1, 2, 3, 4, 5, 8, 9, 64, 65, 128, 129, 10_000])
    assert classes_of(sizes, count=8).tolist() == [0, 0, 1, 2, 2, 3, 3, 4, 6, 7, 7, 7, 7]


@pytest.mark.parametrize("domain", [2, 3, 4, 5, 16, 17, 119, 128, 129, 2**20])
def test_every_set_of_a_domain_has_a_class_whose_slots_hold_it(domain: int) -> None:
    count, sizes = class_count(domain), np.arange(min(domain, 128) + 1)
    found = classes_of(sizes, count=count)
    assert found.max() == count - 1, "no class is of sets that nobody can have"
    slots = [largest_of(each, domain=domain) for each in range(count)]
    assert all(size <= slots[each] for size, each in zip(sizes.tolist(), found.tolist(), strict=True))
    assert slots[-1] == largest_padding(domain) == min(domain, 128)


def test_names_say_which_sizes_a_class_has() -> None:
    assert class_names(2) == ("0 or 1", "2")
    assert class_names(10) == ("0 or 1", "2", "3 to 4", "5 to 8", "9 to 16")
    assert class_names(1_000)[-2:] == ("33 to 64", "65 or more")
