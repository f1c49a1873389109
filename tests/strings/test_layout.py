"""The layout of the batches of a collection of strings: all rows are kept, however they are cut."""

import numpy as np

from stream_ldp.strings.layout import StringLayout
from tests.strings.examples import collection_of, counted, rows_of, users


def test_all_answers_are_kept() -> None:
    collection = collection_of()
    layout, rows = StringLayout(collection), rows_of(collection, users(collection, 500))
    tallies = layout.tallies()
    for part in np.split(rows, [100, 101]):
        layout.count(tallies, part)
    (tally,) = tallies.values()
    assert tally.take_changed(closing=True) == {0: counted(collection, rows)}
    assert layout.bits == collection.bits
    assert layout.valid(rows).all()
    assert layout.takes(np.array([0, 10_000])).all()
    assert not layout.implausible(rows, np.array([500])).any()
