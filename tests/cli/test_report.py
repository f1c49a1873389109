"""Tests of what `stream-ldp report` hands to the kind of its collection."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import Result

from stream_ldp.cli import report as module
from stream_ldp.cli.report import report
from stream_ldp.cli.report_options import ReportOptions

Run = Callable[..., Result]


@pytest.mark.parametrize(
    ("flags", "given"),
    [
        ((), {}),
        (("--budget", "2", "--unlinked"), {"budget": 2.0, "linked": False}),
        (("--assume", "values", "--max-values", "3"), {"assumption": "values", "max_values": 3}),
        (("--per-day", "inf"), {"per_day": float("inf")}),
    ],
)
def test_the_terms_of_the_ledger_are_those_that_were_given_and_no_others(
    command_line: Run, survey: Path, monkeypatch: pytest.MonkeyPatch, flags: tuple[str, ...], given: dict[str, Any]
) -> None:
    told: list[ReportOptions] = []
    kind = SimpleNamespace(report=lambda collection, options: told.append(options))
    monkeypatch.setattr(module, "face_of", lambda collection: kind)
    result = command_line(report, survey, *flags)
    assert result.exit_code == 0, result.output
    assert [each.given for each in told] == [given]
    assert told[0].path == Path("-"), "standard input"
