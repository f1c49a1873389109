"""What reports to phases cost: the phase's epsilon once an epoch, or the permanent response that they show."""

from __future__ import annotations

import pytest

from stream_ldp.ledger.ledger import AlreadyReported, Book, book_of, json_of
from stream_ldp.ledger.ledger_file import PrivacyLedger
from stream_ldp.ledger.terms import Terms
from stream_ldp.sets.charges import charges
from stream_ldp.sets.item_sets import ItemSets
from stream_ldp.sets.phases import epochs_epsilon
from stream_ldp.sets.rounds import Round
from tests.client.items import EPOCH, films

SECRET = bytes(range(32))


def test_a_permanent_response_is_charged_in_an_account_of_its_own() -> None:
    collection, user = films(mechanism="{kind: loloha, epsilon: 1, k: 2, set_size: 2}"), ItemSets.of([[1]])
    ledger = PrivacyLedger.in_memory(secret=SECRET, terms=Terms(budget=9.0))

    def report(epoch: int) -> None:
        reported = charges(
            collection, user, asked=Round.first(collection, epoch), secret=SECRET, tag_key=ledger.tag_key
        )
        ledger.spend(reported, time_ms=0)

    for epoch in (EPOCH, EPOCH + 1):
        report(epoch)
    assert ledger.spending.epsilon == pytest.approx(epochs_epsilon(collection.method, epochs=2), abs=1e-12)
    with pytest.raises(AlreadyReported):
        report(EPOCH)
    book = Book(terms=Terms(), spending=ledger.spending)
    assert book_of(json_of(book)) == book
