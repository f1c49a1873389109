"""Receipts: what they say of a report, in numbers and in words, and that they say no value."""

import asyncio
import math
from typing import Any

import numpy as np
import pytest

from stream_ldp.client.reporter import Reporter
from stream_ldp.collection.records import CollectionOfRecords
from stream_ldp.kinds import KINDS, kind_of, parse_collection
from stream_ldp.ledger.ledger_file import PrivacyLedger
from stream_ldp.ledger.receipt import Receipt
from stream_ldp.ledger.terms import Terms
from stream_ldp.testing import kafka_in_memory
from tests.schemas.recorded import COLLECTIONS

SECRET = bytes(range(32))

RECORDS: dict[str, dict[str, Any]] = {
    "records": {"bathing": "yes", "mobility": "full"},
    "sampled": {"diet": "plants", "smokes": "yes"},
    "strings": {"word": "ba"},
    "places": {"place": "a", "region": "everywhere", "epsilon": 2},
}


def test_a_receipt_says_in_words_what_left_and_what_is_left() -> None:
    receipt = Receipt(
        collection="diets",
        about=("diet",),
        rows=(bytes([1, 2]),),
        linked=False,
        cost=1.0,
        spent=2.0,
        budget=4.0,
        promise="any two records",
    )
    assert str(receipt) == (
        "Sent to diets: 2 bytes, 0102, with noise, about diet. Cost: 1.000 nats; 2.000 of 4 are left. "
        "Between two equally likely records, the best guess of yours is now 88.1 % right."
    )
    assert receipt.left == 2.0
    assert receipt.surest == pytest.approx(math.exp(2) / (1 + math.exp(2)))


@pytest.mark.parametrize("kind", sorted(set(KINDS) - {"sets"}))
def test_every_report_of_a_record_has_a_receipt(kind: str) -> None:
    collection = parse_collection(COLLECTIONS[kind])
    assert isinstance(collection, CollectionOfRecords)
    if kind in RECORDS:
        record = collection.encode(RECORDS[kind])
    else:
        record = tuple(collection.table(np.zeros((1, len(collection.attributes)), dtype=np.int64).tolist())[0])
    ledger = PrivacyLedger.in_memory(secret=SECRET, terms=Terms(budget=20.0, linked=True))

    async def receipts() -> list[Receipt | None]:
        with kafka_in_memory(collection) as kafka:
            reporter = Reporter(collection, settings=kafka.settings, secret=SECRET, ledger=ledger, clock=kafka.clock)
            async with reporter:
                return [await reporter.report_series([record]) for _ in range(2)]

    first, second = asyncio.run(receipts())
    assert first is not None
    assert second is not None
    assert first.cost == first.spent > 0
    assert second.spent == ledger.spending.epsilon == pytest.approx(first.spent + second.cost)
    assert (first.budget, first.left) == (20.0, 20.0 - first.spent)
    (row,) = first.rows
    assert kind_of(collection).layout(collection).valid(np.frombuffer(row, dtype=np.uint8)[None]).all()
    # A receipt names what is asked about: attributes, or all pairs of keys and numbers together.
    names = {each.name for each in collection.attributes} | ({"pairs"} if kind == "pairs" else set())
    assert set(first.about) <= {" and ".join(each.name for each in collection.attributes)} | names
