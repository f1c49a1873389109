"""Records as all collections of records take them: an attribute each, and no value in a message."""

from __future__ import annotations

from typing import Any

import pytest

from stream_ldp.collection.attributes import encode_record
from stream_ldp.errors import DataError
from tests.client.examples import collection_of

ATTRIBUTES = collection_of().attributes


def test_a_record_is_encoded_in_the_order_of_the_attributes() -> None:
    assert encode_record({"mobility": "full", "bathing": "yes"}, ATTRIBUTES, collection="care") == (1, 2)


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"bathing": "yes"}, "attribute 'mobility' is missing"),
        (
            {"bathing": "yes", "mobility": "full", "bath": "no"},
            "'bath' is not an attribute of collection 'care'; did you mean 'bathing'?",
        ),
        (
            {"bathing": "yes", "mobility": "full", 1: "no"},
            "1 is not an attribute of collection 'care'; known are bathing, mobility",
        ),
        ({"bathing": "maybe", "mobility": "full"}, "attribute 'bathing': the given value is not one of no, yes"),
    ],
)
def test_what_is_wrong_with_a_record_is_said_without_its_values(record: dict[Any, str], message: str) -> None:
    with pytest.raises(DataError) as raised:
        encode_record(record, ATTRIBUTES, collection="care")
    assert str(raised.value) == message
