"""`stream-ldp evaluate strings`: the numbers, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from stream_ldp.cli import app
from tests.strings.examples import SHARES, WORDS


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "people.csv"
    words = np.random.default_rng(0).choice(WORDS, 2_000, p=SHARES)
    path.write_text("\n".join(["word,gap", *(f"{word}," for word in words.tolist())]) + "\n", encoding="utf-8")
    return path


def run(data: Path, *flags: object, of: str = "word") -> Result:
    arguments = ["evaluate", "strings", "--data", data, "--of", of, *flags]
    return CliRunner().invoke(app, list(map(str, arguments)), env={"COLUMNS": "300"})


def test_methods_and_epsilons_are_scored(table: Path) -> None:
    flags = ("--alphabet", "abcdefghijklmnopqrstuvwxyz", "--k", 5, "--users", 20_000, "--repeats", 1)
    done = run(table, "--epsilon", "0.5,5", "--methods", "pem,rappor-unknown", *flags, "--json")
    assert done.exit_code == 0, done.output
    document = json.loads(done.stdout)
    assert document["settings"]["strings"] == 5
    assert document["settings"]["length"] == 6
    found = {(each["method"], each["epsilon"]): each["found"] for each in document["results"]}
    assert list(found) == [("pem", 0.5), ("rappor-unknown", 0.5), ("pem", 5.0), ("rappor-unknown", 5.0)]
    assert found["pem", 5.0] == 5
    assert found["pem", 0.5] < 5


def test_text_needs_no_alphabet_and_is_shown_as_a_table(table: Path) -> None:
    done = run(table, "--epsilon", 5, "--repeats", 1, "--users", 20_000)
    assert done.exit_code == 0, done.output
    assert "people.csv: word, 5 different strings; 20,000 users, repeats: 1." in done.stdout
    assert "covered" in done.stdout


@pytest.mark.parametrize(
    ("flags", "of", "problem"),
    [
        (("--alphabet", "abc"), "word", "the given string has a letter that is not in the alphabet of 3 letters"),
        (("--length", 3), "word", "the given string is empty or longer than 3 bytes of UTF-8"),
        ((), "gap", "attribute 'gap': the value is missing"),
        (("--missing", "value"), "gap", "what is missing is not a string"),
        ((), "words", "the first line has no column 'words'; did you mean 'word'?"),
        (("--methods", "pen"), "word", "'pen' is not a method; did you mean 'pem'?"),
        (("--methods", "pem,pem"), "word", "method 'pem' is given twice"),
        (
            ("--methods", "rappor-unknown"),
            "word",
            "rappor-unknown at epsilon 2.0: method rappor-unknown has a bit for",
        ),
    ],
)
def test_what_cannot_be_evaluated_is_refused(table: Path, flags: tuple[object, ...], of: str, problem: str) -> None:
    done = run(table, "--epsilon", 2, *flags, of=of)
    assert done.exit_code == 2
    assert problem in done.stderr
    assert "banana" not in done.output
