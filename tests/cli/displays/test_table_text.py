"""Tests of tables of answers as text."""

from __future__ import annotations

from io import StringIO

import pytest
from rich import box
from rich.console import Console
from rich.table import Table as RichTable

from stream_ldp.cli.displays.table_text import print_table, print_whole
from stream_ldp.client.table import Table, table_of
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


def test_a_terminal_that_is_too_narrow_cuts_nothing_of_a_table() -> None:
    drawn = RichTable(*(f"heading{number}" for number in range(10)), box=box.SIMPLE)
    drawn.add_row(*(f"1.{number}345678" for number in range(10)))
    console = Console(file=(file := StringIO()), force_terminal=True, width=80, color_system=None)
    print_whole(console, drawn)
    text = file.getvalue()
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= 80
    assert all(text.count(digit) >= 10 for digit in "345678")


def test_more_numbers_have_the_digits_of_their_own_error_or_two_that_count(
    capsys: pytest.CaptureFixture[str],
) -> None:
    row = {"estimate": 0.123456, "standard_error": 0.0123456, "learnt": 0.11111111, "learnt_error": 0.00345678}
    print_table(Table((row | {"by_chance": 0.012345678901234, "answers": 12},)))
    assert capsys.readouterr().out.splitlines()[-1].split() == ["0.123", "0.012", "0.1111", "0.0035", "0.012", "12"]
