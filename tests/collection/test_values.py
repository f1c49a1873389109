"""The values of attributes: lists, bins of numbers, and what is missing."""

import math
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_ldp.collection import CollectionError
from stream_ldp.collection.values import MissingValue, bin_of, encode_value, index_of, is_bin, labels_of_bins, text_of
from stream_ldp.errors import DataError
from stream_ldp.records.collection import JointCollection

TEXT = """
collection: care
mechanism: {{kind: k-rr, epsilon: 2}}
attributes:
  - {{name: age, {attribute}}}
window: {{size: 60s}}
estimates:
  - {{name: age, of: [age]}}
"""


def collection_of(attribute: str) -> JointCollection:
    return JointCollection.parse(TEXT.format(attribute=attribute), source="care.yaml")


def test_bins_are_named_by_their_bounds() -> None:
    assert labels_of_bins([0, 18, 64.5, 120]) == ["[0,18)", "[18,64.5)", "[64.5,120]"]
    assert labels_of_bins([-math.inf, 0, math.inf]) == ["(-inf,0)", "[0,inf)"]


@given(
    edges=st.lists(st.integers(-50, 50), min_size=2, max_size=8, unique=True).map(sorted),
    number=st.floats(-60, 60),
)
def test_a_number_is_in_the_bin_whose_bounds_hold_it(edges: list[int], number: float) -> None:
    if not edges[0] <= number <= edges[-1]:
        with pytest.raises(DataError, match=f"from {edges[0]} to {edges[-1]}"):
            bin_of(number, edges, attribute="a")
        return
    place = bin_of(number, edges, attribute="a")
    last = place == len(edges) - 2
    assert edges[place] <= number < edges[place + 1] or (last and number == edges[-1])


def test_a_collection_file_states_bins_and_a_value_for_what_is_missing() -> None:
    collection = collection_of("bins: [0, 18, 65, .inf], missing: unknown")
    (age,) = collection.attributes
    assert age.values == ("[0,18)", "[18,65)", "[65,inf)", "unknown")
    given = ["17", 17.9, 18, "[18,65)", "1e9", None, "", math.nan, "unknown"]
    assert [age.encode(value) for value in given] == [0, 0, 1, 1, 2, 3, 3, 3, 3]
    listed = collection_of('values: ["[0,18)", "[18,65)", "[65,inf)", unknown]')
    assert listed.fingerprint == collection.fingerprint, "the same reports, whatever clients start from"
    assert JointCollection.model_validate(collection.document) == collection


def test_a_missing_value_may_be_one_of_the_list() -> None:
    (diet,) = collection_of("values: [none, fish, plants], missing: none").attributes
    assert diet.values == ("none", "fish", "plants")
    assert [diet.encode(value) for value in ("fish", None, "none")] == [1, 0, 0]


@pytest.mark.parametrize(
    ("attribute", "problem"),
    [
        ("bins: [0, 18, 18]", "each larger than the one before"),
        ("bins: [0]", "bins are given by their edges, two or more numbers"),
        ("bins: [young, old]", "bins are given by their edges, two or more numbers"),
        ("bins: 7", "bins are given by their edges, two or more numbers"),
        ("bins: 123", "bins are given by their edges, two or more numbers"),
        ("bins: [0, .nan]", "bins are given by their edges, two or more numbers"),
        ("bins: [0, 18, 65], values: [young, old]", "either values or bins"),
        ("bins: [0, 18]", "two numbers bound a single bin: give three or more"),
    ],
)
def test_bins_that_are_none_are_located(attribute: str, problem: str) -> None:
    with pytest.raises(CollectionError, match=problem) as raised:
        collection_of(attribute)
    assert "care.yaml:5" in str(raised.value)


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("old", "the given value is not a number"),
        ("-1", "the given number is not from 0 to 65"),
        ("nan", "the given value is not a number"),
        (70, "the given number is not from 0 to 65"),
    ],
)
def test_what_is_in_no_bin_is_refused_without_repeating_it(value: object, problem: str) -> None:
    with pytest.raises(DataError, match=problem) as raised:
        encode_value(value, ["[0,18)", "[18,65]"], bins=[0, 18, 65], missing=None, attribute="age")
    assert str(value) not in str(raised.value).replace("not a number", "").replace("not from 0 to 65", "")


def test_numbers_beyond_the_bins_belong_to_the_nearest_unless_the_file_says_otherwise() -> None:
    (age,) = collection_of("bins: [0, 18, 65]").attributes
    assert [age.encode(value) for value in (-1, "1e400", 65, -math.inf)] == [0, 1, 1, 0]
    (age,) = collection_of("bins: [0, 18, 65], clip: false, other: elsewhere").attributes
    assert age.values == ("[0,18)", "[18,65]", "elsewhere")
    assert [age.encode(value) for value in (-1, "old", 65)] == [2, 2, 1]
    with pytest.raises(CollectionError, match="no number that could be clipped"):
        collection_of("values: [a, b], clip: false")


@pytest.mark.parametrize(
    ("value", "said"), [(None, "missing"), ("", "missing"), (math.nan, r"missing \(it is NaN\)")]
)
def test_a_missing_value_is_refused_where_there_is_none_for_it(value: object, said: str) -> None:
    with pytest.raises(MissingValue, match=f"attribute 'age': the value is {said}$"):
        encode_value(value, ["no", "yes"], bins=None, missing=None, attribute="age")


def test_numbers_stand_for_their_text() -> None:
    spelt = {
        "3": (3, 3.0, np.float32(3), Decimal("3.0")),
        "3.5": (3.5, np.float64(3.5)),
        "3.0": ("3.0",),
        "0.1": (0.1, np.float32(0.1), Decimal("0.10")),
        "1e999": (math.inf, Decimal("1e999")),
        "-1e999": (np.float32("-inf"),),
        "true": (True, np.True_),
    }
    assert {text: {text_of(each, what="it") for each in values} for text, values in spelt.items()} == {
        text: {text} for text in spelt
    }
    assert encode_value(2.0, ["1", "2"], bins=None, missing=None, attribute="a") == 1


@pytest.mark.parametrize("value", [np.float32("nan"), Decimal("nan"), Decimal("sNaN"), pd.NA, pd.NaT], ids=repr)
def test_whatever_stands_for_no_value_is_a_missing_value(value: object) -> None:
    assert text_of(value, what="it") is None


@pytest.mark.parametrize("value", [b"no", ["no"], ("no",), {"no": 1}, np.array(["no"]), np.array([])], ids=repr)
def test_what_holds_values_is_no_value(value: object) -> None:
    """Its text would be told as if it were a value that users have, such as b'no'."""
    with pytest.raises(DataError, match=r"^it is not text, and not a number$"):
        text_of(value, what="it")


def test_a_number_of_too_many_digits_is_refused() -> None:
    with pytest.raises(DataError, match=r"^it has too many digits$"):
        text_of(10**5_000, what="it")


def test_a_long_list_of_values_is_cut_in_messages() -> None:
    with pytest.raises(DataError, match=r"not one of 0, 1, .*, 19 and 980 others$"):
        index_of("secret", [str(value) for value in range(1_000)], attribute="a")


def test_bins_are_recognised_by_their_names() -> None:
    assert all(map(is_bin, labels_of_bins([-math.inf, -0.5, 1e9, math.inf])))
    assert not any(map(is_bin, ["", "unknown", "[0]", "(a)", "0,18", "[a,b,c]"]))
