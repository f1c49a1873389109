"""Reports of records name the same permanent responses where, and only where, they show the same ones."""

from __future__ import annotations

import pytest

from stream_ldp.ledger.terms import Assumption
from stream_ldp.records.charges import charges
from stream_ldp.records.collection import JointCollection
from tests.ledger.surveys import KEY, SURVEY, collection_of, spent


@pytest.mark.parametrize(
    "change",
    [
        {"name": "another"},
        {"mechanism": {"kind": "rr-ldp", **SURVEY, "f": 0.25}},
        {"attribute": "another"},
        {"values": ["value-1", "value-0"]},
        {"values": ["value-0", "value-1", "value-2"]},
    ],
)
def test_responses_that_are_drawn_anew_are_distinguished_from_those_shown_before(change: dict[str, object]) -> None:
    """Exactly where a collection's permanent words change, its reports show other responses with other tags."""
    old = collection_of(2)
    document = old.document
    attribute = {
        "name": change.get("attribute", "attribute-0"),
        "values": change.get("values", document["attributes"][0]["values"]),
    }
    new = JointCollection.model_validate(
        document
        | {
            "collection": change.get("name", "survey"),
            "mechanism": change.get("mechanism", document["mechanism"]),
            "attributes": [attribute],
            "estimates": [{"name": "all", "of": [attribute["name"]]}],
        }
    )
    assert new.permanent_words().words(KEY, [0])[:2].tolist() != old.permanent_words().words(KEY, [0])[:2].tolist()
    (first,), (second,) = (charges(each, [(0,)], secret=KEY, tag_key=KEY) for each in (old, new))
    assert first.responses != second.responses
    assert first.tags != second.tags
    both = spent(new, [(0,)], before=spent(old, [(0,)]))
    assert both.assumption is Assumption.CONSTANT
    assert both.epsilon == pytest.approx(old.mechanism.epsilon() + new.mechanism.epsilon(), abs=1e-12)


def test_adding_an_attribute_keeps_the_responses_of_the_others() -> None:
    alone, both = collection_of(2), collection_of(2, 3)
    spending = spent(both, [(1, 2)], before=spent(alone, [(1,)]))
    expected = alone.mechanism.epsilon(reports=2) + alone.mechanism.epsilon(reports=1)
    assert spending.epsilon == pytest.approx(expected, abs=1e-12)


def test_no_records_show_nothing() -> None:
    assert charges(collection_of(2), [], secret=KEY, tag_key=KEY) == ()
