"""What is true of users whose values are known."""

from __future__ import annotations

import pytest

from stream_ldp.marginals.truth import totals
from tests.marginals.examples import collection_of, marginals_of, users


def test_users_are_counted_by_value_and_their_numbers_summed() -> None:
    people = users(100)
    found = totals(collection_of(), people)
    assert found["marginals", ("age", ("mean",))] == pytest.approx(people["1"].sum())
    assert found["marginals", ("diet", ("meat",))] == (people["0"] == 0).sum()


def test_every_cell_that_a_display_shows_has_a_truth() -> None:
    found = totals(collection_of(), users(100))
    assert {cell.key for cell in marginals_of(collection_of(), 100).cells() if cell.names} == {
        key for _, key in found
    }
