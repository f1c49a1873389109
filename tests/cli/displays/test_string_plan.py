"""A collection of strings on a line, and its plan as tables and as JSON, on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.displays.examples import run
from tests.strings.examples import TEXT


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "words.yaml"
    path.write_text(
        TEXT.format(
            mechanism="epsilon: 2", string="length: 6, alphabet: abcdefghijklmnopqrstuvwxyz", window="", more=""
        ),
        encoding="utf-8",
    )
    return path


def test_a_correct_file_is_described_on_a_line(file: Path) -> None:
    assert (
        "strings of at most 6 letters by pem, 3 questions, each user asked one at epsilon 2.000, 43 bits a report, "
        "windows of 10 s"
    ) in run("check", file)


def test_the_plan_has_the_questions_and_the_error(file: Path) -> None:
    text = run("plan", file)
    assert "Epsilon 2.000 for all reports of a user for ever" in text
    assert "the whole string" in text
    document = json.loads(run("plan", file, "--json", "--users", "1000"))
    assert [each["share"] for each in document["questions"]] == [0.25, 0.25, 0.5]
    assert [each["users"] for each in document["errors"]] == [1000]
