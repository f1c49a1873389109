"""`stream-ldp evaluate frequency` and `evaluate mean`: the numbers, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from stream_ldp.cli import app


@pytest.fixture
def table(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    path = tmp_path / "people.csv"
    lines = [
        f"{diet},{age:.2f},same,{'' if row == 3 else row}"
        for row, (diet, age) in enumerate(
            zip(rng.choice(["meat", "fish", "", "x" * 300], 400), rng.uniform(20, 60, 400), strict=True)
        )
    ]
    path.write_text("\n".join(["diet,age,same,gap", *lines]) + "\n", encoding="utf-8")
    return path


def run(what: str, data: Path, *flags: str, of: str) -> Result:
    return CliRunner().invoke(
        app, ["evaluate", what, "--data", str(data), "--of", of, *flags], env={"COLUMNS": "300"}
    )


def results(what: str, data: Path, *flags: str, of: str) -> list[dict[str, Any]]:
    found = run(what, data, "--json", *flags, of=of)
    assert found.exit_code == 0, found.output
    assert "without a value" in found.stderr or not found.stderr, "progress on something that is no terminal"
    return json.loads(found.stdout)["results"]  # type: ignore[no-any-return]


def test_frequencies_of_every_oracle_and_epsilon_are_scored(table: Path) -> None:
    """Values may be empty or long. The mean error of 100 repeats is within half but for 1 seed in 10^5."""
    flags = (
        "--epsilon",
        "1,3",
        "--oracles",
        "auto,k-rr,k-subset,hadamard,s-hist",
        "--users",
        "300",
        "--repeats",
        "100",
    )
    found = results("frequency", table, *flags, of="diet")
    assert [(each["oracle"], each["epsilon"]) for each in found[:6]] == [
        *((name, 1.0) for name in ("auto", "k-rr", "k-subset", "hadamard", "s-hist")),
        ("auto", 3.0),
    ]
    assert len(found) == 10
    for each in found:
        assert set(each) == {"oracle", "epsilon", "mse", "mse_expected", "avd", "seconds"}
        assert each["mse"] == pytest.approx(each["mse_expected"], rel=0.5)
        assert 0 < each["avd"] < 1


def test_means_are_scored_in_units_of_the_range(table: Path) -> None:
    """In a range twice as wide, the noise is the same."""
    flags = ("--epsilon", "2", "--oracles", "auto,harmony-mean,mean-est", "--users", "300", "--repeats", "200")
    found = results("mean", table, *flags, of="age")
    wide = results("mean", table, *flags, "--range", "-100,200", of="age")
    for each in (*found, *wide):
        assert each["mse"] == pytest.approx(each["mse_expected"], rel=0.5)
    assert found[0]["mse_expected"] < found[1]["mse_expected"] == pytest.approx(found[2]["mse_expected"])
    assert wide[1]["mse_expected"] == pytest.approx(1.72 / 300, rel=0.05)


def test_a_table_shows_the_same(table: Path) -> None:
    found = run("frequency", table, "--epsilon", "1", "--repeats", "2", of="diet")
    assert found.exit_code == 0
    assert "people.csv: diet; 400 users, repeats: 2." in found.stdout
    assert "k-subset" in found.stdout


@pytest.mark.parametrize(
    ("what", "of", "flags", "message"),
    [
        ("frequency", "height", (), "the first line has no column 'height'"),
        ("frequency", "same", (), "attribute 'same' has the same value in every record"),
        ("frequency", "diet,diet", (), "attribute 'diet' is given twice"),
        ("frequency", "diet", ("--epsilon", "0"), "auto at epsilon 0.0: it should be greater than 0"),
        ("frequency", "diet", ("--epsilon", "60"), "auto at epsilon 60.0: epsilon=60.0 is beyond the resolution"),
        ("frequency", "diet", ("--epsilon", "1,1"), "give each number once"),
        ("frequency", "diet", ("--epsilon", "much"), "expected numbers, separated by commas"),
        ("frequency", "diet", ("--oracles", "k-rrr"), "'k-rrr' is not an oracle; did you mean 'k-rr'?"),
        ("frequency", "diet", ("--oracles", "w-rr"), "w-rr is for two values, and there are 4"),
        (
            "mean",
            "diet",
            ("--missing", "skip"),
            "attribute 'diet' is not a number in 295 of 295 records, the first of which is record 1",
        ),
        (
            "mean",
            "gap",
            (),
            "people.csv:5: attribute 'gap': the value is missing\n  -> leave such rows out: --missing skip",
        ),
        ("mean", "gap", ("--missing", "value"), "what is missing is not a number"),
        ("mean", "age", ("--range", "0,50"), "attribute 'age' has a number that is not from 0 to 50"),
        ("mean", "age", ("--range", "50,0"), "expected two numbers with a comma between them"),
        (
            "mean",
            "age",
            ("--range", "0,nan"),
            "expected two numbers with a comma between them",
        ),
        ("mean", "same", (), "attribute 'same' is not a number in 400 of 400 records"),
    ],
)
def test_what_cannot_be_evaluated_is_said(
    table: Path, what: str, of: str, flags: tuple[str, ...], message: str
) -> None:
    given = flags if "--epsilon" in flags else ("--epsilon", "1", *flags)
    found = run(what, table, *given, of=of)
    assert found.exit_code in {1, 2}  # 1 for the table, 2 for an option
    assert message in found.stderr


def test_a_constant_number_needs_its_range(tmp_path: Path) -> None:
    path = tmp_path / "constant.csv"
    path.write_text("n\n7\n7\n", encoding="utf-8")
    assert "give its --range" in run("mean", path, "--epsilon", "1", of="n").stderr
    (found,) = results("mean", path, "--epsilon", "1", "--range", "0,10", "--oracles", "auto", of="n")
    assert found["mse_expected"] > 0
