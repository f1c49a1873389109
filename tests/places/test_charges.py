"""What reports cost, of which there may be none."""

from __future__ import annotations

from stream_ldp.places.charges import charges
from tests.places.examples import collection_of

SECRET = bytes(32)


def test_no_records_show_nothing() -> None:
    collection = collection_of()
    assert charges(collection, collection.table([]), secret=SECRET, tag_key=SECRET) == ()
