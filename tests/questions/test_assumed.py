"""Assumed users have values of every kind of attribute, as the collection encodes them."""

from __future__ import annotations

import numpy as np

from stream_ldp.marginals.collection import SampledCollection
from stream_ldp.questions.assumed import assumed_table


def test_assumed_users_have_values_texts_and_numbers_in_their_domains() -> None:
    collection = SampledCollection.parse(
        "collection: c\nmechanism: {kind: sampled, epsilon: 2}\nwindow: {size: 60s}\nattributes:\n"
        "  - {name: diet, values: [meat, fish, plants]}\n  - {name: app, candidates: [maps, mail]}\n"
        "  - {name: age, range: [20, 80]}\n"
    )
    table = assumed_table(collection.attributes)
    assert [table.dtype[place] for place in range(3)] == [np.dtype(each.dtype) for each in collection.attributes]
    assert set(table["0"].tolist()) == {0, 1, 2}
    assert set(table["1"].tolist()) == {"maps", "mail"}
    assert table["2"].min() >= 20
    assert table["2"].max() <= 80
    assert abs(np.mean(table["2"]) - (20 + 60 / 3)) < 1
    assert len(collection.table(table)) == len(table)
