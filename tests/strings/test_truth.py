"""What is true of users whose strings are known."""

from __future__ import annotations

from stream_ldp.strings.truth import totals
from tests.strings.examples import collection_of, users


def test_users_are_counted_by_their_strings() -> None:
    people = users(collection_of(), 100)
    found = totals(collection_of(), people)
    assert found["strings", ("", ("apple",))] == (people[:, 0] == 1).sum()
    assert sum(found.values()) == 100
