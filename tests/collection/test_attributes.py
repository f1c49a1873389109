"""Records as all collections of records take them: an attribute each, and no value in a message."""

from typing import Any

import pytest

from stream_ldp.collection.attributes import encode_record
from stream_ldp.errors import DataError
from stream_ldp.kinds import parse_collection
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


def test_whose_values_are_refused_is_found_by_trying_and_none_are_where_the_file_has_a_value_for_all() -> None:
    text = """
    collection: survey
    mechanism: {kind: sampled, epsilon: 2}
    attributes:
      - {name: diet, values: [fish, meat]}
      - {name: town, values: [york, leeds], other: elsewhere, missing: unknown}
      - {name: age, range: [18, 99], clip: false}
      - {name: height, bins: [100, 150, 200], missing: unknown}
    window: {size: 60s}
    """
    collection = parse_collection(text)
    assert collection.refused == (
        "diet: no value, or any other text",
        "age: no value, or any other text, or a number beyond its range",
        "height: any other text",
    )
    full = parse_collection(
        text.replace("meat]}", "meat], other: meat, missing: meat}").replace("  - {name: age", "#")
    )
    assert full.refused == ("height: any other text",)
