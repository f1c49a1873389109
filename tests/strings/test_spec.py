"""What a file may say of how strings are asked about."""

from __future__ import annotations

import pytest

from stream_ldp.collection import CollectionError
from stream_ldp.strings.spec import METHODS
from tests.strings.examples import collection_of


def test_k_changes_nothing_for_clients_and_epsilon_does() -> None:
    assert collection_of("epsilon: 2").mechanism_spec.k == 32
    assert collection_of("epsilon: 2, k: 5").fingerprint == collection_of("epsilon: 2").fingerprint
    assert collection_of("epsilon: 2.5").fingerprint != collection_of("epsilon: 2").fingerprint


def test_every_method_can_be_named() -> None:
    for name in METHODS:
        assert collection_of(f"epsilon: 2, method: {name}").method.name == name


@pytest.mark.parametrize(
    ("mechanism", "problem"),
    [
        ("epsilon: 2, method: sfp", "mechanism.method"),
        ("epsilon: 0", "mechanism.epsilon"),
        ("epsilon: 40", "epsilon=40.0 is beyond the resolution"),
        ("epsilon: 2, k: 0", "mechanism.k"),
        ("epsilon: 2, k: 513", "mechanism.k"),
    ],
)
def test_what_no_method_can_do_is_refused_at_its_place(mechanism: str, problem: str) -> None:
    with pytest.raises(CollectionError, match=problem):
        collection_of(mechanism)
