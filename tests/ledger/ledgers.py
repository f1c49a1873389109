"""Ledgers of one user in files, and what is spent from them."""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from stream_ldp.ledger.ledger_file import PrivacyLedger
from stream_ldp.ledger.terms import Terms
from stream_ldp.records.collection import JointCollection
from stream_ldp.records.reports import charges
from tests.client.examples import collection_of

SECRET = bytes(range(32))
COLLECTION = collection_of()
#: Terms under which the tests of other things spend.
UNLIMITED = Terms(budget=math.inf)
NOON_MS = 12 * 3_600_000


def spend(ledger: PrivacyLedger, record: Sequence[int] = (0, 1), collection: JointCollection = COLLECTION) -> None:
    ledger.spend(charges(collection, [record], secret=SECRET, tag_key=ledger.tag_key), time_ms=NOON_MS)


def counted(ledger: PrivacyLedger) -> int:
    """Reports of the collection that the ledger holds."""
    return next((each.memoised + each.fresh for each in ledger.spending.accounts), 0)


def opened(path: Path, **terms: Any) -> PrivacyLedger:
    """Open a ledger under its own terms, or under these and otherwise unlimited ones, stricter or not."""
    given = replace(UNLIMITED, **terms) if terms else None
    return PrivacyLedger.open(path, secret=SECRET, terms=given, change_terms=True)
