"""Tests of tables of answers as text."""

import json
import re
from io import StringIO
from typing import Any

import pytest
from rich import box
from rich.console import Console
from rich.table import Table as RichTable

from stream_ldp.cli.displays.display import Display
from stream_ldp.cli.displays.table_text import plain, print_table, print_whole
from stream_ldp.client.table import Table, table_of
from stream_ldp.kinds import KINDS
from stream_ldp.printable import printable
from stream_ldp.schemas import FOLDER
from tests.client.examples import estimate_of, of_minute
from tests.strings.examples import collection_of, ranking_of


def test_what_all_rows_share_is_said_once_and_numbers_have_the_digits_of_their_errors(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_table(table_of([estimate_of()]))
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert lines[:3] == ["collection: care-survey", "series: bathing-mobility", "window_start: 1970-01-01T00:00:00Z"]
    assert "reports: 12,345" in lines
    assert lines[6].split() == ["bathing", "mobility", "estimate", "standard_error", "low", "high"]
    assert lines[7].split() == ["no", "none", "0.100", "0.010", "0.080", "0.120"]


def test_what_rows_do_not_share_is_a_column(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(table_of([of_minute(0), of_minute(1)]))
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("window_start  ") and "mobility" in line for line in lines)
    assert max(map(len, lines)) > 80, "a pipe does not cut a line"


def test_a_string_that_a_terminal_would_obey_is_spelt_out(capsys: pytest.CaptureFixture[str]) -> None:
    ranking = ranking_of(collection_of())
    assert ranking.strings is not None
    strings = (ranking.strings[0].model_copy(update={"string": "\x1b[2J\n"}),)
    print_table(table_of([ranking.model_copy(update={"strings": strings})]))
    assert r"\x1b[2J\n" in capsys.readouterr().out


def printed(drawn: RichTable, *, width: int) -> list[str]:
    """Print a table at a terminal, whose lines it must not pass."""
    console = Console(file=(file := StringIO()), force_terminal=True, width=width, color_system=None)
    print_whole(console, drawn)
    lines = [line.rstrip() for line in file.getvalue().splitlines() if line.strip()]
    assert max(map(len, lines)) <= width, lines
    return lines


@pytest.mark.parametrize("drawn_in", [None, box.SIMPLE], ids=["plain", "boxed"])
@pytest.mark.parametrize("width", [30, 60, 80, 100])
def test_a_terminal_that_is_too_narrow_gets_a_wide_table_in_parts_with_every_number_whole(
    drawn_in: box.Box | None, width: int
) -> None:
    numbers = [f"0.{number}345678" for number in range(12)]
    drawn = RichTable("series", box=drawn_in, title="means", padding=(0, 2, 0, 0))
    for number in range(12):
        drawn.add_column(f"range_of_{number}", justify="right")
    drawn.add_row("heavy-hitters", *numbers)
    words = [line.split() for line in printed(drawn, width=width)]
    rows = [each for each in words if each[0] == "heavy-hitters"]
    assert [number for _, *row in rows for number in row] == numbers
    assert sum(each == ["means"] for each in words) == 1


def test_headings_and_texts_go_on_in_the_next_line_before_a_table_is_parted() -> None:
    drawn = RichTable("value", box=None)
    for heading in ("standard_error_at_most", "mechanism.epsilon"):
        drawn.add_column(heading, justify="right")
    drawn.add_row("one of the two", "0.0123", "1.5")
    lines = printed(drawn, width=40)
    assert "standard_error_at_most" not in " ".join(lines)
    assert lines[-2].split() == ["one", "of", "the", "0.0123", "1.5"]
    assert lines[-1].split() == ["two"]


def test_a_width_that_the_environment_states_holds_in_a_pipe(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    print_table(table_of([of_minute(0), of_minute(1)]))
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 80


def test_more_numbers_have_the_digits_of_their_own_error_or_two_that_count(
    capsys: pytest.CaptureFixture[str],
) -> None:
    row = {"estimate": 0.123456, "standard_error": 0.0123456, "learnt": 0.11111111, "learnt_error": 0.00345678}
    print_table(Table((row | {"by_chance": 0.012345678901234, "answers": 12},)))
    assert capsys.readouterr().out.splitlines()[-1].split() == ["0.123", "0.012", "0.1111", "0.0035", "0.012", "12"]


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
