"""A collection of item sets whose file names no method has the usual one at its epsilon."""

from __future__ import annotations

import re

import pytest

from stream_ldp.collection import CollectionError
from stream_ldp.sets.collection import ItemCollection
from stream_ldp.sets.methods.usual import MAX_EPSILON_OF_GFIM_USERS, usual_kind

TEXT = """
collection: films
mechanism: {{{}}}
items: {{size: 16}}
window: {{size: 60s, idle_timeout: 5s}}
"""


def films(mechanism: str) -> ItemCollection:
    return ItemCollection.parse(TEXT.format(mechanism))


@pytest.mark.parametrize(("epsilon", "kind"), [(0.5, "gfim-users"), (2, "gfim-users"), (2.1, "svim"), (8, "svim")])
def test_a_file_without_a_kind_has_the_usual_method_and_all_that_is_made_of_it_names_it(
    epsilon: float, kind: str
) -> None:
    left_out, named = films(f"epsilon: {epsilon}, k: 2"), films(f"kind: {kind}, epsilon: {epsilon}, k: 2")
    assert usual_kind(epsilon) == kind
    assert left_out.method.name == kind
    assert left_out.document == named.document
    assert left_out.document["mechanism"]["kind"] == kind
    assert left_out.fingerprint == named.fingerprint


def test_the_boundary_itself_belongs_to_gfim_users() -> None:
    assert usual_kind(MAX_EPSILON_OF_GFIM_USERS) == "gfim-users"


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
        ("kind: null, epsilon: 3, k: 2", "mechanism.kind: "),
    ],
)
def test_what_is_wrong_in_a_file_without_a_kind_is_said_as_in_others(mechanism: str, problem: str) -> None:
    with pytest.raises(CollectionError, match=re.escape(problem)):
        films(mechanism)
