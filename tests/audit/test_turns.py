"""The enumeration of turns finds a second one, and turns that are not those of the specification."""

from __future__ import annotations

from typing import Any

import pytest

from stream_ldp.audit.audited import Claim
from stream_ldp.audit.specified_rows import turn_differences
from stream_ldp.audit.turns import w_event_claims
from stream_ldp.collection import Collection
from stream_ldp.kinds import kind_of, parse_collection

TEXT = """\
collection: care
mechanism: {kind: k-rr, epsilon: 1}
attributes: [{name: bathing, values: [no, yes]}]
window: {size: 1d}
estimates: [{name: bathing, of: [bathing]}]
rotate: 4
"""
FILE: dict[str, Any] = {
    "collection": "care",
    "mechanism": {"kind": "k-rr", "epsilon": 1},
    "attributes": [{"name": "bathing", "values": ["no", "yes"]}],
    "window": {"size": "1d"},
    "rotate": 4,
}
OF_ONE = Claim(about={"reports": 1}, claimed=1.0, enumerated=1.0)
FOR_EVER = Claim(about={"reports": 5}, claimed=3.0, enumerated=3.0)


def problems(collection: Collection) -> list[str]:
    return list(turn_differences(collection, kind_of(collection).specified(FILE, collection.meaning)))


def test_any_windows_cost_what_one_report_does() -> None:
    collection = parse_collection(TEXT)
    (claim,) = w_event_claims(collection, [OF_ONE, FOR_EVER], claimed=1.0)
    assert claim.holds
    assert claim.row == {
        "windows": 4,
        "turns": 1,
        "changes": "any",
        "allowed": 1.0,
        "claimed": 1.0,
        "enumerated": 1.0,
    }
    assert problems(collection) == []


def test_a_second_turn_disproves_the_claim(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = Collection.has_turn
    monkeypatch.setattr(
        Collection,
        "has_turn",
        lambda self, secrets, *, number: (
            honest(self, secrets, number=number) | honest(self, secrets, number=number + 1)
        ),
    )
    collection = parse_collection(TEXT)
    (claim,) = w_event_claims(collection, [OF_ONE], claimed=1.0)
    assert (claim.about["turns"], claim.enumerated, claim.holds) == (2, 2.0, False)
    assert problems(collection) != []


def test_a_collection_without_turns_claims_nothing_of_windows() -> None:
    assert list(w_event_claims(parse_collection(TEXT.replace("rotate: 4\n", "")), [OF_ONE], claimed=1.0)) == []
