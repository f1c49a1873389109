"""The truth of a simulation of item sets."""

from __future__ import annotations

from stream_ldp.cli.simulation.item_truth import ItemTruth
from stream_ldp.sets.item_sets import ItemSets
from tests.client.items import films


def test_nothing_is_frequent_where_nobody_holds_anything() -> None:
    nobody = ItemTruth.of(films(), ItemSets.of([[], []]))
    assert nobody.top(3) == {}
