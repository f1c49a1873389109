"""A collection of places on a line, and its plan as tables and as JSON, on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.displays.examples import run
from tests.places.examples import TEXT


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "visits.yaml"
    path.write_text(TEXT.format(mechanism="epsilon: [0.5, 2]", window=""), encoding="utf-8")
    return path


def test_a_correct_file_is_described_on_a_line(file: Path) -> None:
    assert (
        "5 places in 3 regions, each user told to be in one of the user's choice, and hidden within it at epsilon "
        "0.500 or 2.000, 13 bits a report, windows of 10 s"
    ) in run("check", file)


def test_the_plan_says_what_is_told_and_the_error(file: Path) -> None:
    text = run("plan", file)
    assert "they are not hidden" in text
    document = json.loads(run("plan", file, "--json", "--users", "1000"))
    assert document["epsilons"] == [0.5, 2.0]
    assert [each["places"] for each in document["regions"]] == [5, 5, 3, 3, 2, 2]
    assert [error["users"] for error in document["regions"][0]["errors"]] == [1000]
