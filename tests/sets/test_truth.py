"""What is true of users whose item sets are known."""

from __future__ import annotations

from stream_ldp.sets.item_sets import ItemSets
from stream_ldp.sets.truth import totals
from tests.client.items import films


def test_users_are_counted_by_the_items_that_anybody_holds() -> None:
    first, second = (films().items.name(item) for item in (0, 3))
    found = totals(films(), ItemSets.of([[0, 3], [3], []]))
    assert found == {("items", ("", (first,))): 1.0, ("items", ("", (second,))): 2.0}
