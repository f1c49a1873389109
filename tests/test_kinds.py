"""The table of kinds: what tells the kind of a file, and what is said where none does."""

from __future__ import annotations

import pytest

from stream_ldp.collection import CollectionError
from stream_ldp.kinds import KINDS, kind_of, parse_collection
from tests.toy import COIN, Coins

TEXT = """
collection: coins
mechanism: {kind: coin, truth: 0.75}
window: {size: 10s, grace: 2s, idle_timeout: 5s}
"""


@pytest.fixture(autouse=True)
def coins(monkeypatch: pytest.MonkeyPatch) -> Coins:
    monkeypatch.setitem(KINDS, COIN.name, COIN)
    collection = parse_collection(TEXT)
    assert isinstance(collection, Coins)
    return collection


def test_a_kind_in_the_table_is_told_by_its_mechanism(coins: Coins) -> None:
    assert kind_of(coins) is COIN
    with pytest.raises(CollectionError, match=r"mechanism\.truth: .*greater than 0\.5"):
        parse_collection(TEXT.replace("0.75", "0.5"))


def test_a_kind_that_is_not_in_the_table_is_refused_with_those_that_are(
    coins: Coins, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(KINDS, COIN.name)
    with pytest.raises(CollectionError, match="or 'svim', got 'coin'"):
        parse_collection(TEXT)
    with pytest.raises(TypeError, match="a Coins is of no kind in the table"):
        kind_of(coins)
