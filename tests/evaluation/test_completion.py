"""What a document leaves to the table is filled in, and nothing else is changed."""

from typing import Any

import pytest

from stream_ldp.errors import DataError
from stream_ldp.evaluation.completion import complete_attributes, complete_estimates, ordered


class Columns:
    """A table by its columns."""

    item_sets = ()

    def __init__(self, **columns: list[str]) -> None:
        self.columns = list(columns)
        self._columns = columns

    def values(self, name: str) -> list[str]:
        return ordered(self._columns[name])


TABLE = Columns(bathing=["no", "yes", "no"], age=["10", "9", "-1"])


def completed(document: dict[str, Any], table: Columns = TABLE) -> dict[str, Any]:
    complete_estimates(document, table)
    return document


def test_integers_are_ordered_as_numbers_and_all_other_values_as_text() -> None:
    assert ordered(["10", "9", "-1", "9"]) == ["-1", "9", "10"]
    assert ordered(["10", "9", "b"]) == ["10", "9", "b"]


def test_all_columns_are_attributes_whose_values_occur_and_are_estimated_together() -> None:
    assert completed({}) == {
        "attributes": [{"name": "bathing", "values": ["no", "yes"]}, {"name": "age", "values": ["-1", "9", "10"]}],
        "estimates": [{"name": "joint", "of": ["bathing", "age"]}],
    }


def test_what_a_document_says_stays() -> None:
    given = {
        "attributes": [{"name": "age", "bins": ["0", "18"]}, {"name": "bathing", "values": ["yes", "no"]}],
        "estimates": [{"name": "mine", "of": ["age"], "method": "em"}, {"of": ["bathing"]}],
    }
    found = completed(given)
    assert found["attributes"] == given["attributes"]
    assert found["estimates"] == [
        {"name": "mine", "of": ["age"], "method": "em"},
        {"name": "joint-2", "of": ["bathing"]},
    ]


def test_what_is_missing_is_a_value_before_the_others_under_a_name_that_none_has() -> None:
    found = completed({}, Columns(a=["x", "", "missing"]))
    assert found["attributes"] == [{"name": "a", "values": ["missing_", "missing", "x"], "missing": "missing_"}]
    named = completed({"attributes": [{"name": "a", "missing": "unknown"}]}, Columns(a=["x", ""]))
    assert named["attributes"] == [{"name": "a", "values": ["unknown", "x"], "missing": "unknown"}]


def test_an_empty_range_is_that_of_the_table() -> None:
    document: dict[str, Any] = {"attributes": [{"name": "age", "range": ""}]}
    complete_attributes(document, TABLE)
    assert document["attributes"] == [{"name": "age", "range": [-1.0, 10.0]}]


@pytest.mark.parametrize(
    ("attribute", "column", "message"),
    [
        ({"name": "a"}, ["x", "x"], "attribute 'a' has the same value in every record"),
        ({"name": "a", "range": ""}, ["1", "x"], "attribute 'a' is not a number in every record"),
        ({"name": "a", "range": ""}, ["1", "1"], "attribute 'a' has the same number in every record"),
    ],
)
def test_a_column_that_says_nothing_is_refused(attribute: dict[str, Any], column: list[str], message: str) -> None:
    with pytest.raises(DataError, match=message):
        complete_attributes({"attributes": [attribute]}, Columns(a=column))


@pytest.mark.parametrize("document", [{"attributes": "a"}, {"attributes": [3, {}]}, {"attributes": [{"name": []}]}])
def test_a_document_of_the_wrong_form_is_left_to_the_collection(document: dict[str, Any]) -> None:
    complete_attributes(document, TABLE)
