"""What strings may be, what is refused, and that nothing that is refused is repeated."""

import numpy as np
import pytest

from stream_ldp.collection import CollectionError
from stream_ldp.errors import DataError
from stream_ldp.strings.attribute import END, StringAttribute
from tests.strings.examples import collection_of

LETTERS = StringAttribute(name="word", length=4, alphabet="abcö")
TEXT = StringAttribute(name="word", length=6)


@pytest.mark.parametrize(
    ("attribute", "value"), [(LETTERS, "a"), (LETTERS, "cöab"), (TEXT, "Zürich"[:5]), (TEXT, "\x00"), (TEXT, "日本")]
)
def test_symbols_and_strings_are_each_others_inverse(attribute: StringAttribute, value: str) -> None:
    symbols = np.array([attribute.encode(value)])
    assert symbols.shape == (1, attribute.length)
    assert symbols.max() < attribute.symbols
    assert attribute.valid(symbols).all()
    assert attribute.decode(symbols[0]) == value


@pytest.mark.parametrize(
    ("attribute", "value"),
    [(LETTERS, ""), (LETTERS, None), (LETTERS, "abcab"), (LETTERS, "abz"), (TEXT, ""), (TEXT, "日本語")],
)
def test_other_strings_are_reported_as_one_that_nobody_finds(attribute: StringAttribute, value: str | None) -> None:
    symbols = attribute.encode(value)
    assert symbols == (END,) * attribute.length
    assert not attribute.valid(np.array([symbols])).any()


def test_halves_of_a_pair_are_replaced() -> None:
    assert TEXT.encode("a\ud800") == TEXT.encode("a\ufffd")


def test_what_is_no_text_is_refused_and_not_repeated() -> None:
    with pytest.raises(DataError, match="attribute 'word': the given value is not text, and not a number"):
        LETTERS.encode(["a"])


@pytest.mark.parametrize(
    ("string", "problem"),
    [
        ("length: 6, alphabet: abca", "string.alphabet: the letters of an alphabet must be distinct, 'a' is given"),
        ("length: 6, alphabet: a", "string.alphabet"),
        ("length: 0", "string.length"),
        ("length: 65", "string.length"),
        ("alphabet: abc", "string.length: this key is required"),
    ],
)
def test_a_file_that_describes_no_strings_is_refused_at_its_place(string: str, problem: str) -> None:
    with pytest.raises(CollectionError, match=problem):
        collection_of(string=string)


def test_a_beginning_that_no_string_has_is_not_valid() -> None:
    assert LETTERS.valid(np.array([[1, 2], [1, 0], [0, 1], [0, 0]])).tolist() == [True, True, False, False]
    two_bytes = [each + 1 for each in "ü".encode()]
    beginnings = [two_bytes[:1] * 2, two_bytes, [two_bytes[0], 0], [1, two_bytes[0]], [two_bytes[1], 1]]
    assert TEXT.valid(np.array(beginnings)).tolist() == [False, True, False, True, False]
    whole = [[1, 1, 1, 1, 1, two_bytes[0]], [1, 1, 1, 1, *two_bytes]]
    assert TEXT.valid(np.array(whole)).tolist() == [False, True]
