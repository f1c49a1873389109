"""`stream-ldp evaluate views`: the numbers, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from stream_ldp.cli import app
from tests.views.examples import users


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path, people = tmp_path / "care.csv", users(500)
    names = ["walks", "bathes", "diet", "region"]
    rows = [",".join(str(person[str(place)]) for place in range(4)) for person in people]
    path.write_text("\n".join([",".join(names), *rows]) + "\n", encoding="utf-8")
    return path


def run(data: Path, *flags: str) -> Result:
    return CliRunner().invoke(app, ["evaluate", "views", "--data", str(data), *flags], env={"COLUMNS": "300"})


def test_designs_are_scored_by_epsilon_and_number_of_attributes(table: Path) -> None:
    found = run(
        table, "--epsilon", "2,4", "--users", "300", "--designs", "auto,attributes,pairs,rr-ldp", "--ways", "2,3",
        "--sets", "3", "--repeats", "2", "--seed", "5", "--json",
    )  # fmt: skip
    assert found.exit_code == 0, found.output
    assert found.stderr == "", "progress on something that is no terminal"
    results = json.loads(found.stdout)["results"]
    assert len(results) == 2 * 4 * 2
    assert {"design", "epsilon", "ways", "avd", "avd_expected", "seconds"} <= set(results[0])
    assert [(each["design"], each["epsilon"], each["ways"]) for each in results[:3]] == [
        ("auto", 2.0, 2),
        ("auto", 2.0, 3),
        ("attributes", 2.0, 2),
    ]
    assert all(0 < each["avd"] < 1 and 0 < each["avd_expected"] <= 1 for each in results)


def test_a_table_is_printed_and_columns_can_be_chosen(table: Path) -> None:
    found = run(
        table,
        "--epsilon",
        "3",
        "--of",
        "diet,walks",
        "--ways",
        "2",
        "--repeats",
        "1",
        "--designs",
        "pairs",
        "--coverage",
    )
    assert found.exit_code == 0, found.output
    assert "2 attributes of 2 to 3 values; 500 users" in found.stdout


@pytest.mark.parametrize(
    ("flags", "problem"),
    [
        (["--designs", "pears"], "'pears' is not a design of these attributes; did you mean 'pairs'?"),
        (["--ways", "5"], "--ways has 5; from 1 to the 4 attributes of the table"),
        (["--ways", "4", "--most-cells", "8"], "no 4 attributes have at most 8 cells"),
        (["--of", "walks,sex"], "has no column 'sex'"),
        (["--epsilon", "0"], "auto at epsilon 0.0: "),
        (["--epsilon", "x"], "--epsilon is 'x': expected numbers, separated by commas"),
    ],
)
def test_what_cannot_be_evaluated_is_refused(table: Path, flags: list[str], problem: str) -> None:
    given = [] if "--epsilon" in flags else ["--epsilon", "1"]
    found = run(table, "--ways", "2", *given, *flags)
    assert found.exit_code in {1, 2}  # 1 for the table, 2 for an option
    assert problem in found.stderr


def test_numbers_of_attributes_that_nobody_gave_are_no_more_than_the_table_has(table: Path) -> None:
    found = run(table, "--of", "walks,bathes", "--epsilon", "1", "--users", "100", "--repeats", "1", "--json")
    assert found.exit_code == 0, found.output
    assert {each["ways"] for each in json.loads(found.stdout)["results"]} == {2}


def test_one_user_is_too_few(table: Path) -> None:
    assert run(table, "--epsilon", "1", "--users", "1").exit_code == 2


def test_a_table_without_records_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "empty.csv"
    path.write_text("", encoding="utf-8")
    found = run(path, "--epsilon", "1")
    assert found.exit_code == 1
    assert "no first line" in found.stderr
