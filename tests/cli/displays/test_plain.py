"""Parts of displays are text, neither markup nor commands."""

from __future__ import annotations

import json
import re
from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from stream_ldp.cli.displays.display import Display
from stream_ldp.cli.displays.plain import plain
from stream_ldp.cli.displays.table_text import print_table
from stream_ldp.client.table import table_of
from stream_ldp.kinds import KINDS
from stream_ldp.printable import printable
from stream_ldp.schemas import FOLDER

HOSTILE = "\x1b]0;owned\x07\x9b2J\n[red]\u202ex"

#: What these say decides what an answer is.
_KEPT = {"fingerprint", "kind", "status", "weights"}
_KEPT_WORDS = {("about", "items"), ("about", "itemsets")}


def hostile(part: Any, name: str = "") -> Any:
    """Put something that a terminal obeys into every text of a message."""
    if isinstance(part, dict):
        return {key: hostile(value, key) for key, value in part.items()}
    if isinstance(part, list):
        return [hostile(value, name) for value in part]
    kept = not isinstance(part, str) or name in _KEPT or (name, part) in _KEPT_WORDS
    return part if kept else f"{HOSTILE}{part}"


def test_text_is_shown_as_it_is_and_what_a_terminal_would_obey_is_spelt_out() -> None:
    shown = plain(HOSTILE, style="dim")
    assert shown.plain == "\\x1b]0;owned\\x07\\x9b2J\\n[red]\\u202ex"
    assert shown.style == "dim"


@pytest.mark.parametrize("kind", KINDS)
def test_no_answer_commands_a_terminal(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    message = KINDS[kind].answer
    example = json.loads((FOLDER / "examples" / f"{message.__name__.lower()}-v1.json").read_text(encoding="utf-8"))
    answer = message.from_bytes(json.dumps(hostile(example)).encode())
    display: Display[Any] = Display(rows=5)
    display.add(answer)
    console = Console(file=StringIO(), force_terminal=True, width=200, height=80)
    monkeypatch.setattr("stream_ldp.cli.displays.table_text.Console", lambda **_: console)
    console.print(display.panel(answer))
    console.print(display.screen(console))
    print_table(table_of([answer]))
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert "owned" in text
    lines = re.sub(r"\x1b\[[0-9;]*m", "", text).split("\n")
    assert [line for line in lines if printable(line) != line] == []


@pytest.mark.parametrize("left", [0, 1])
def test_frequencies_of_one_value_or_none_are_shown(left: int) -> None:
    """Of candidates that do not stand out, none has an estimate."""
    example = json.loads((FOLDER / "examples" / "marginals-v1.json").read_text(encoding="utf-8"))
    found = next(each["estimate"] for each in example["attributes"] if each["estimate"]["kind"] == "frequencies")
    found |= {name: found[name][:left] for name in ("values", "raw", "standard_error", "projected")} | {
        "learnt": None
    }
    answer = KINDS["sampled"].answer.from_bytes(json.dumps(example).encode())
    console = Console(file=StringIO(), width=120)
    console.print(Display(rows=5).panel(answer))
    assert "marginals" in console.file.getvalue()  # type: ignore[attr-defined]
