"""A collection of a kind that the package does not know: the toy's, known during a test."""

import pytest

from stream_ldp.kinds import KINDS, parse_collection
from tests.toy import COIN, Coins

TEXT = """
collection: coins
mechanism: {kind: coin, truth: 0.75}
window: {size: 10s, grace: 2s, idle_timeout: 5s}
"""


@pytest.fixture
def coins(monkeypatch: pytest.MonkeyPatch) -> Coins:
    """Put the toy kind into the table, and return a collection of it."""
    monkeypatch.setitem(KINDS, COIN.name, COIN)
    collection = parse_collection(TEXT)
    assert isinstance(collection, Coins)
    return collection
