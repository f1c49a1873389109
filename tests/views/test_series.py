"""The series of estimates of views."""

import pytest

from stream_ldp.collection import CollectionError
from tests.views.examples import collection_of


def test_every_estimate_is_a_series_of_the_one_statistic() -> None:
    collection = collection_of(estimates="[{name: a, of: [walks]}, {name: b, of: [diet, walks], every: 5s}]")
    first, second = collection.series
    assert first.statistic(None) == second.statistic(None) == ("answers",)
    assert (second.every_ms, second.period_ms(collection.window), second.follows(7)) == (5_000, 10_000, ("b", None))


def test_an_attribute_is_in_an_estimate_once() -> None:
    with pytest.raises(CollectionError, match="'walks' is given twice"):
        collection_of(estimates="[{name: a, of: [walks, walks]}]")
