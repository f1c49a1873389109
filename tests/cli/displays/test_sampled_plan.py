"""A sampled collection on a line, and its plan as a table and as JSON, on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from stream_ldp.cli import app
from tests.cli.displays.examples import run
from tests.sampled.examples import TEXT


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "diets.yaml"
    path.write_text(TEXT.format(mechanism="epsilon: 2", window=""), encoding="utf-8")
    return path


def test_a_correct_file_is_described_on_a_line(file: Path) -> None:
    assert "3 attributes, each user asked about one at epsilon 2.000, 15 bits a report, windows of 10 s" in run(
        "check", file
    )


def test_the_plan_has_the_error_of_each_attribute(file: Path) -> None:
    text = run("plan", file)
    assert "Epsilon 2.000 for all reports of a user for ever" in text
    assert "piecewise, 37 of 101 and coin" in text
    document = json.loads(run("plan", file, "--json", "--users", "1000"))
    assert [each["name"] for each in document["attributes"]] == ["diet", "age", "smokes"]
    assert [each["users"] for each in document["attributes"][1]["errors"]] == [1000]


def test_a_pipe_gets_the_whole_plan_however_narrow_the_terminal_was(file: Path) -> None:
    done = CliRunner().invoke(app, ["plan", str(file)], env={"COLUMNS": "40"})
    assert "1,000,000 users" in done.stdout
    assert "…" not in done.stdout
