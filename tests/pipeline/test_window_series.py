"""The series of collections that ask a user one question: one statistic, one window after another."""

import pytest

from stream_ldp.marginals.collection import SampledCollection
from stream_ldp.strings.collection import StringCollection
from tests.marginals import examples as sampled
from tests.strings import examples as strings


@pytest.mark.parametrize(
    ("collection", "name"),
    [(sampled.collection_of(), "marginals"), (strings.collection_of(window=", hop: 5s"), "strings")],
)
def test_every_window_is_answered_from_all_its_reports(
    collection: SampledCollection | StringCollection, name: str
) -> None:
    (series,) = collection.series
    assert (series.name, series.every_ms) == (name, collection.every_ms)
    assert series.statistic(None) == ("answers",)
    assert series.period_ms(collection.window) == collection.window.pane_ms
    assert series.follows(20_000) == (name, None)
