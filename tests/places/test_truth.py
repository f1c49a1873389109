"""What is true of users whose places are known."""

from __future__ import annotations

import numpy as np

from stream_ldp.places.truth import totals
from tests.places.examples import collection_of, counts_of, users


def test_users_are_counted_at_every_place_of_the_answer() -> None:
    people = users(100)
    found = totals(collection_of(), people)
    assert list(found.values()) == np.bincount(people["0"], minlength=5).tolist()
    assert [key for _, key in found] == [cell.key for cell in counts_of(collection_of(), 50).cells()]
