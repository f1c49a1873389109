"""Tests of tables of answers as text."""

from __future__ import annotations

import pytest

from stream_ldp.cli.displays.table_text import print_table
from stream_ldp.client.table import table_of
from tests.client.examples import estimate_of, of_minute


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
