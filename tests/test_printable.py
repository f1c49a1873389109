"""Tests of what a terminal is shown of text that others have written."""

import json
import re
import shutil
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_ldp.printable import UNSEEN, printable, printable_json


@pytest.mark.parametrize("text", ["apple pie", "grüße", "東京", "🍎", "a\\b", "it's", "نمی خواهم", "é̩"])
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
        ("\u2764\ufe0f", "\u2764\\ufe0f"),
        ("10\u202f000\u00a0m\u3000", "10\\u202f000\\xa0m\\u3000"),
        ("a\u3164\uffa0\u115fb\u2800\U000e0041\U0001d159", "a\\u3164\\uffa0\\u115fb\\u2800\\U000e0041\\U0001d159"),
        ("a\ud800", "a\\ud800"),
    ],
    ids=[
        "escape",
        "escape of one byte",
        "ends of lines",
        "from right to left",
        "without width",
        "variation selector",
        "blanks",
        "fillers and tags",
        "half a pair",
    ],
)
def test_what_a_terminal_would_obey_is_spelt_out(text: str, shown: str) -> None:
    assert printable(text) == shown


@given(value=st.recursive(st.text(), lambda part: st.lists(part) | st.dictionaries(st.text(), part), max_leaves=5))
def test_json_that_a_terminal_does_not_obey_has_the_same_meaning(value: Any) -> None:
    written = printable_json(json.dumps(value, ensure_ascii=False, indent=1))
    assert json.loads(written) == value
    assert all(printable(line) == line.replace("\\\\", "\\\\") for line in written.split("\n"))


def test_no_blank_but_one_is_seen() -> None:
    blanks = {each for each in map(chr, range(sys.maxunicode + 1)) if each.isspace()}
    assert {each for each in blanks if re.match(f"[^{UNSEEN}]", each)} == {" "}


@pytest.mark.skipif(shutil.which("node") is None, reason="needs Node.js")
def test_what_is_ignorable_to_unicode_is_unseen_in_every_language() -> None:
    """Node.js has the properties of Unicode, which Python lacks, and reads the pattern as readers of schemas do."""
    program = r"""
        const seen = new RegExp(`^[^${process.argv[1]}]$`, "u");
        const hidden = /[\p{Cc}\p{White_Space}\p{Default_Ignorable_Code_Point}]/u;
        const every = Array.from({ length: 0x110000 }, (_, code) => String.fromCodePoint(code));
        console.log(every.filter((each) => hidden.test(each) && seen.test(each)).map(escape).join());
    """
    node = subprocess.run(["node", "-e", program, UNSEEN], capture_output=True, text=True, check=True, timeout=60)
    assert node.stdout == "%20\n"
