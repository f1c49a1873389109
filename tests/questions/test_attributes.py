"""Attributes of sampled collections: what they take, and what they say of what they refuse."""

import math

import numpy as np
import pytest
from pydantic import ValidationError

from stream_ldp.collection.values import MissingValue
from stream_ldp.errors import DataError
from stream_ldp.questions.attributes import AskedAttribute

DIET = AskedAttribute(name="diet", values=("meat", "fish"))
SITE = AskedAttribute(name="site", candidates=("a.example",))
AGE = AskedAttribute(name="age", range=(0, 120))
STRICT = AGE.model_copy(update={"clip": False})


def test_a_value_is_encoded_as_its_number_and_a_number_as_itself() -> None:
    assert DIET.encode("fish") == 1
    assert AGE.encode("41.5") == 41.5
    assert SITE.encode("unlisted") == "unlisted"
    assert AGE.scaled(np.array([0, 60, 120.0])).tolist() == [-1, 0, 1]


def test_zero_has_one_form_so_that_it_has_one_permanent_answer() -> None:
    assert [str(AGE.encode(each)) for each in ("0", "-0", "-0.0", -0.0, 0)] == ["0.0"] * 5


def test_numbers_between_steps_are_the_nearest_step() -> None:
    whole = AskedAttribute(name="age", range=(0, 120), step=1)
    assert [whole.encode(each) for each in (41, "40.49", 40.5, -3, 500, -0.2)] == [41, 40, 41, 0, 120, 0]
    tenths = AskedAttribute(name="part", range=(-0.1, 0.2), step=0.1, clip=False)
    assert [tenths.encode(each) for each in (-0.1, 0.04, 0.12, 0.2)] == pytest.approx([-0.1, 0, 0.1, 0.2])
    assert tenths.encode(0.2) == 0.2
    with pytest.raises(DataError, match=r"is not from -0\.1 to 0\.2"):
        tenths.encode(0.21)


def test_numbers_beyond_the_range_are_clipped() -> None:
    assert [AGE.encode(each) for each in ("-0.5", "41.5", "1e300", "1e400", -math.inf)] == [0, 41.5, 120, 120, 0]


def test_values_outside_the_list_stand_for_the_other_one() -> None:
    diet = AskedAttribute.model_validate({"name": "diet", "values": ["meat", "fish"], "other": "others"})
    assert diet.values == ("meat", "fish", "others")
    assert [diet.encode(each) for each in ("fish", "tofu", "others", 7)] == [1, 2, 2, 2]
    with pytest.raises(MissingValue):
        diet.encode("")


def test_any_text_can_be_reported() -> None:
    assert SITE.encode("x" * 9_000) == "x" * 9_000
    assert SITE.encode("a\ud800b") == "a\ufffdb"
    assert SITE.model_copy(update={"missing": "nowhere"}).encode(None) == "nowhere"


@pytest.mark.parametrize(
    ("attribute", "value", "message"),
    [
        (DIET, "tofu", "attribute 'diet': the given value is not one of meat, fish"),
        (STRICT, "121", "attribute 'age': the given number is not from 0 to 120"),
        (STRICT, "-0.5", "attribute 'age': the given number is not from 0 to 120"),
        (STRICT, math.inf, "attribute 'age': the given number is not from 0 to 120"),
        (AGE, "nan", "attribute 'age': the given value is not a number"),
        (AGE, "", "attribute 'age': the value is missing"),
        (AGE, "old", "attribute 'age': the given value is not a number"),
        (SITE, "", "attribute 'site': the value is missing"),
    ],
)
def test_what_it_may_not_have_is_refused_and_not_repeated(
    attribute: AskedAttribute, value: str, message: str
) -> None:
    with pytest.raises(DataError) as raised:
        attribute.encode(value)
    assert str(raised.value) == message


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"range": (0, 1), "bins": [0, 1, 2]}, "a number with a `range` has no bins"),
        ({}, "needs either `values`, a list, or `bins`, the edges of intervals, or `range"),
        (
            {"values": ("a", "b"), "range": (0, 1)},
            "needs either `values`, a list, or `bins`, the edges of intervals, or `range",
        ),
        ({"values": ("a", "a")}, "must be distinct, 'a' is given twice"),
        ({"values": ("a",)}, "at least 2"),
        (
            {"values": ("a", "b"), "candidates": ("a",)},
            "needs either `values`, a list, or `bins`, the edges of intervals, or `range",
        ),
        ({"candidates": ("a", "a")}, "must be distinct, 'a' is given twice"),
        ({"values": ("a", "b"), "clip": False}, "is no number that could be clipped"),
        ({"range": (0, 1), "missing": "unknown"}, "a number has no value for what is missing"),
        ({"candidates": ("a",), "other": "b"}, "can have one for all others"),
        ({"range": (1, 1)}, "needs two numbers, the smaller one first"),
        ({"range": (2, 1)}, "needs two numbers, the smaller one first"),
        ({"range": (-1e308, 1e308)}, "take another unit"),
        ({"range": (-1e200, 1e200)}, "take another unit"),
        ({"range": (0, 1e-200)}, "take another unit"),
        ({"values": ("a", "b"), "step": 1}, "so it cannot have a step"),
        ({"range": (0, 1), "step": 0}, "a number above 0, such as 1; got 0"),
        ({"range": (0, 1), "step": -1}, "a number above 0, such as 1; got -1"),
        ({"range": (0, 1), "step": float("nan")}, "a number above 0, such as 1; got nan"),
        ({"range": (0, 1), "step": float("inf")}, "a number above 0, such as 1; got inf"),
        ({"range": (0, 120), "step": 7}, "do not end at 120: take a range to 119, or another step"),
        ({"range": (0, 1), "step": 2}, "do not end at 1: take a range to 2, or another step"),
        ({"range": (0, 1000), "step": 1}, "has 1,000 steps, and answers distinguish at most 256"),
        ({"range": (0, float("inf"))}, "needs two numbers, the smaller one first"),
    ],
)
def test_an_attribute_has_a_list_or_a_range(given: dict[str, object], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        AskedAttribute.model_validate({"name": "age", **given})


def test_a_list_has_no_bounds_and_a_number_no_labels() -> None:
    with pytest.raises(TypeError, match="has values, and no range"):
        _ = DIET.bounds
    with pytest.raises(TypeError, match="has no list of values"):
        _ = AGE.labels
