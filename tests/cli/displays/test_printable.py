"""Tests of what a terminal is shown of strings that users have sent."""

from __future__ import annotations

import pytest

from stream_ldp.cli.displays.printable import printable


@pytest.mark.parametrize("text", ["apple pie", "grüße", "東京", "🍎", "a\\b", "it's"])
def test_what_is_printed_stays_as_it_is(text: str) -> None:
    assert printable(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b]0;title\x07", "\\x1b]0;title\\x07"),
        ("\x9b2J", "\\x9b2J"),
        ("a\nb\rc", "a\\nb\\rc"),
        ("\u202eabc", "\\u202eabc"),
        ("a\u00a0b\u2028", "a\\xa0b\\u2028"),
    ],
    ids=["escape", "escape of one byte", "ends of lines", "from right to left", "blanks"],
)
def test_what_a_terminal_would_obey_is_spelt_out(text: str, shown: str) -> None:
    assert printable(text) == shown
