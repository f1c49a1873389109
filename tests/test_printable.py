"""Tests of what a terminal is shown of text that others have written."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_ldp.printable import printable, printable_json


@pytest.mark.parametrize("text", ["apple pie", "grüße", "東京", "🍎", "a\\b", "it's", "10\u202f000\u00a0m"])
def test_what_is_printed_stays_as_it_is(text: str) -> None:
    assert printable(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b]0;title\x07", "\\x1b]0;title\\x07"),
        ("\x9b2J", "\\x9b2J"),
        ("a\nb\rc", "a\\nb\\rc"),
        ("\u202eabc", "\\u202eabc"),
        ("a\u200bb\u2028\U000e0001", "a\\u200bb\\u2028\\U000e0001"),
    ],
    ids=["escape", "escape of one byte", "ends of lines", "from right to left", "without width"],
)
def test_what_a_terminal_would_obey_is_spelt_out(text: str, shown: str) -> None:
    assert printable(text) == shown


@given(value=st.recursive(st.text(), lambda part: st.lists(part) | st.dictionaries(st.text(), part), max_leaves=5))
def test_json_that_a_terminal_does_not_obey_has_the_same_meaning(value: Any) -> None:
    written = printable_json(json.dumps(value, ensure_ascii=False, indent=1))
    assert json.loads(written) == value
    assert all(printable(line) == line.replace("\\\\", "\\\\") for line in written.split("\n"))
