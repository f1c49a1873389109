"""Tables of many records, in the forms in which people have them."""

import math
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from stream_ldp.collection.records import Missing, is_table
from stream_ldp.errors import DataError
from stream_ldp.records.collection import JointCollection
from tests.marginals.examples import collection_of as sampled_collection
from tests.strings.examples import collection_of as strings_collection

PEOPLE = JointCollection.parse(
    """
collection: people
mechanism: {kind: k-rr, epsilon: 2}
attributes:
  - {name: diet, values: [meat, fish], missing: unknown}
  - {name: age, bins: [0, 18, 65]}
  - {name: rooms, values: ["1", "2", "3"]}
window: {size: 60s}
estimates:
  - {name: all, of: [diet, age, rooms]}
"""
)
COLUMNS: dict[str, list[Any]] = {
    "diet": ["fish", None, "meat"],
    "age": [3, 18.5, 65],
    "rooms": [1, 2, 3],
    "id": [7, 8, 9],
}
CODES = [[1, 0, 0], [2, 1, 1], [0, 1, 2]]

FORMS = {
    "columns": COLUMNS,
    "arrays": {name: np.array(column, dtype=object) for name, column in COLUMNS.items()},
    "pandas": pd.DataFrame(COLUMNS),
    "pandas with floats and categories": pd.DataFrame(COLUMNS).astype({"rooms": float, "diet": "category"}),
    "pandas with its own missing values": pd.DataFrame(COLUMNS).convert_dtypes(),
    "arrow": pa.table(COLUMNS),
    "records": [{name: column[row] for name, column in COLUMNS.items() if name != "id"} for row in range(3)],
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_a_table_gives_the_same_records(form: str) -> None:
    assert is_table(FORMS[form])
    encoded = PEOPLE.encode_many(FORMS[form])
    assert (encoded.table.tolist(), encoded.left_out) == (CODES, 0)


def test_what_is_encoded_already_is_no_table() -> None:
    assert not is_table(np.array(CODES))
    assert not is_table(CODES)
    assert not is_table([])


@pytest.mark.parametrize("form", ["columns", "pandas", "arrow"])
def test_rows_that_lack_a_value_are_refused_with_their_number_or_left_out_and_counted(form: str) -> None:
    columns = COLUMNS | {"age": [3.0, None, math.nan]}
    table = {"columns": columns, "pandas": pd.DataFrame(columns), "arrow": pa.table(columns)}[form]
    with pytest.raises(
        DataError, match=r"^row 2: attribute 'age': the value is missing, as in 1 more rows\n  -> "
    ) as raised:
        PEOPLE.encode_many(table)
    assert "`missing: unknown`" in str(raised.value)
    encoded = PEOPLE.encode_many(table, missing="skip")
    assert (encoded.table.tolist(), encoded.left_out) == ([[1, 0, 0]], 2)
    assert PEOPLE.encode_many(table, missing=Missing.SKIP).left_out == 2


@pytest.mark.parametrize("record", [["meat", "walks"], "meat", None, 3, ("diet", "meat")])
def test_a_record_without_names_is_refused_without_a_word_of_its_values(record: Any) -> None:
    with pytest.raises(DataError, match=r"^a record is a mapping from attributes to values") as refused:
        PEOPLE.encode(record)
    assert "meat" not in str(refused.value)
    with pytest.raises(DataError, match=r"^row 1: a record is a mapping from attributes to values"):
        PEOPLE.encode_many([record])


@pytest.mark.parametrize("table", [None, "meat", 3, iter([])])
def test_what_is_no_table_is_refused_with_what_is_one(table: Any) -> None:
    with pytest.raises(DataError, match="many records are a DataFrame"):
        PEOPLE.encode_many(table)


def test_no_records_are_a_table_without_rows() -> None:
    assert PEOPLE.encode_many([]).table.shape == (0, len(PEOPLE.attributes))


def test_a_wrong_value_hides_no_value_that_is_missing_before_it() -> None:
    table = COLUMNS | {"age": [20, None, 30], "diet": ["meat", "fish", "stones"]}
    wrong = "row 3: attribute 'diet': the given value is not one of meat, fish, unknown"
    with pytest.raises(DataError, match=f"^row 2: attribute 'age': the value is missing\n{wrong}$"):
        PEOPLE.encode_many(table)
    with pytest.raises(DataError, match=f"^{wrong}$"):
        PEOPLE.encode_many(table, missing="skip")


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        (
            {"diet": ["fish", "wheelchair", "meat"]},
            "row 2: attribute 'diet': the given value is not one of meat, fish",
        ),
        ({"age": [3, 4, "999 or so"]}, "row 3: attribute 'age': the given value is not a number"),
        ({"rooms": [1, 2]}, "the columns differ in length"),
        ({"rooms": [1, 2, True]}, "row 3: attribute 'rooms': the given value is not one of 1, 2, 3"),
        ({"rooms": [1, 2, [3]]}, "row 3: attribute 'rooms': the value is neither text nor a number"),
        ({"diet": None}, "there is no column 'diet'"),
    ],
)
def test_an_error_names_row_and_column_and_never_a_value(changed: dict[str, Any], problem: str) -> None:
    columns = {name: column for name, column in (COLUMNS | changed).items() if column is not None}
    with pytest.raises(DataError, match=problem) as raised:
        PEOPLE.encode_many(columns)
    assert "wheelchair" not in str(raised.value)
    assert "999" not in str(raised.value)


def test_two_columns_of_one_name_are_refused() -> None:
    frame = pd.DataFrame(COLUMNS)
    twice = pd.concat([frame, frame[["age"]]], axis=1)
    with pytest.raises(DataError, match="two columns are named 'age'"):
        PEOPLE.encode_many(twice)


def test_a_record_with_an_unknown_attribute_is_passed_as_its_known_ones() -> None:
    assert PEOPLE.encode_many([{"diet": "fish", "age": "3", "rooms": "1"}]).table.tolist() == [[1, 0, 0]]
    with pytest.raises(DataError, match="row 1: attribute 'age': the value is missing"):
        PEOPLE.encode_many([{"diet": "fish", "rooms": "1"}])


def test_sampled_collections_and_strings_take_tables_too() -> None:
    collection = sampled_collection()
    table = collection.encode_many(
        pd.DataFrame({"diet": ["fish", "meat"], "age": [40, 41.5], "smokes": ["no", "yes"]})
    ).table
    assert table.tolist() == [(1, 40.0, 0), (0, 41.5, 1)]
    words = strings_collection()
    (attribute,) = words.attributes
    letters = "".join((attribute.alphabet or "ab")[:2])
    encoded = words.encode_many({attribute.name: [letters, None]})
    assert (encoded.table.shape, encoded.left_out) == ((2, attribute.length), 0), "nobody is left out"


@pytest.mark.parametrize("records", [[["meat", "17", "1"]], [("meat", "17", "1")], ["meat"], [("meat",)]])
def test_records_of_many_users_without_names_are_refused_without_a_word_of_their_values(records: Any) -> None:
    with pytest.raises(DataError, match="a mapping from attributes to values") as raised:
        PEOPLE.users(records)
    assert "meat" not in str(raised.value)
    assert raised.value.__suppress_context__
