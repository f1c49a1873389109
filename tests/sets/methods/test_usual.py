"""A collection of item sets whose file names no method has the usual one, which asks for the size of sets."""

import re

import pytest

from stream_ldp.collection import CollectionError
from stream_ldp.sets.collection import ItemCollection
from stream_ldp.sets.phases import Target

TEXT = """
collection: films
mechanism: {{{}}}
items: {{size: 16}}
window: {{size: 60s, idle_timeout: 5s}}
"""


def films(mechanism: str) -> ItemCollection:
    return ItemCollection.parse(TEXT.format(mechanism))


@pytest.mark.parametrize("epsilon", [0.5, 2, 8])
def test_a_file_without_a_kind_has_the_usual_method_and_all_that_is_made_of_it_names_it(epsilon: float) -> None:
    left_out = films(f"epsilon: {epsilon}, k: 2")
    named = films(f"kind: gfim-users, epsilon: {epsilon}, k: 2, set_size: ask")
    assert left_out.method.name == "gfim-users"
    assert left_out.document == named.document
    assert (left_out.document["mechanism"]["kind"], left_out.document["mechanism"]["set_size"]) == (
        "gfim-users",
        "ask",
    )
    assert left_out.fingerprint == named.fingerprint


@pytest.mark.parametrize(
    ("mechanism", "kind"),
    [
        ("epsilon: 2, k: 2, set_size: 3", "gfim-users"),
        ("epsilon: 2.1, k: 2, set_size: 3", "svim"),
        ("epsilon: 8, k: 2, set_size: ask", "gfim-users"),
    ],
)
def test_where_the_set_size_is_given_the_method_depends_on_epsilon(mechanism: str, kind: str) -> None:
    assert films(mechanism).method.name == kind


def test_sizes_are_asked_for_only_where_none_is_given_or_where_a_file_says_so() -> None:
    asked = {
        mechanism: films(mechanism).method.phases[0].asked is Target.SIZE
        for mechanism in (
            "epsilon: 1, k: 2",
            "epsilon: 1, k: 2, set_size: 3",
            "kind: gfim-users, epsilon: 1, k: 2",
            "kind: svim, epsilon: 1, k: 2, set_size: ask",
        )
    }
    assert list(asked.values()) == [True, False, False, True]


def test_options_of_both_methods_are_taken_without_a_kind() -> None:
    for epsilon in (1, 4):
        method = films(f"epsilon: {epsilon}, k: 2, k_max: 5, set_size: 3, hash_bits: 1").method
        assert (method.k, method.first().padding) == (2, 3)


@pytest.mark.parametrize(
    ("mechanism", "problem"),
    [
        ("epsilon: 1, k: 2, split: [0.5, 0.5]", "mechanism.kind: this key is required"),
        ("epsilon: 1, k: 2, lifetime: 2", "mechanism.kind: this key is required"),
        ("k: 2", "mechanism.epsilon: this key is required"),
        ("epsilon: high, k: 2", "mechanism.epsilon: 'high' is not a number"),
        ("epsilon: [1], k: 2", "mechanism.epsilon: "),
        ("epsilon: -1, k: 2", "mechanism.epsilon: epsilon is -1.0; a positive number"),
        ("epsilon: 3, k: 2, set_sise: 3", "mechanism.set_sise: unknown key; did you mean 'set_size'?"),
        ("epsilon: 3, k: 2, set_size: any", "mechanism.set_size: 'any' is neither a whole number nor `ask`"),
        ("epsilon: 3, k: 2, set_size: 1.5", "mechanism.set_size: '1.5' is neither a whole number nor `ask`"),
        ("kind: loloha, epsilon: 3, k: 2, set_size: ask", "mechanism.set_size: 'ask' is not a whole number"),
        ("kind: null, epsilon: 3, k: 2", "mechanism.kind: "),
    ],
)
def test_what_is_wrong_in_a_file_without_a_kind_is_said_as_in_others(mechanism: str, problem: str) -> None:
    with pytest.raises(CollectionError, match=re.escape(problem)):
        films(mechanism)
