"""`stream-ldp evaluate places`: the numbers, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from stream_ldp.cli import app
from tests.marginals.examples import TEXT as SAMPLED
from tests.places.examples import TEXT, people_csv


def run(tmp_path: Path, *flags: str, text: str, people: str) -> Result:
    file, data = tmp_path / "visits.yaml", tmp_path / "people.csv"
    file.write_text(text, encoding="utf-8")
    data.write_text(people, encoding="utf-8")
    return CliRunner().invoke(
        app, ["evaluate", "places", str(file), "--data", str(data), *flags], env={"COLUMNS": "200"}
    )


VISITS = TEXT.format(mechanism="epsilon: [0.5, 2]", window="")


def test_regions_are_compared_with_none(tmp_path: Path) -> None:
    done = run(tmp_path, "--users", "300", "--repeats", "20", "--json", text=VISITS, people=people_csv(200))
    assert done.exit_code == 0, done.output
    document = json.loads(done.stdout)
    assert document["settings"] == {"data": "people.csv", "users": 300, "repeats": 20, "seed": 0}
    chosen, weighted, everyone = document["results"]
    assert (chosen["regions"], weighted["weights"], everyone["regions"]) == ("chosen", "variance", "none")
    # Seeded; the error of 20 repeats of 5 places is 10 % off. Weights are not unbiased for so few records.
    for each in (chosen, everyone):
        assert each["rmse"] == pytest.approx(each["rmse_expected"], rel=0.3)
    assert chosen["rmse"] < everyone["rmse"]


def test_a_table_shows_the_same(tmp_path: Path) -> None:
    done = run(tmp_path, "--repeats", "1", text=VISITS, people=people_csv())
    assert done.exit_code == 0, done.output
    assert "projected" in done.stdout
    assert "variance" in done.stdout


@pytest.mark.parametrize(
    ("text", "people", "message"),
    [
        (SAMPLED.format(mechanism="epsilon: 2", window=""), people_csv(), "not a collection of places"),
        (VISITS, "place,region\na,north\n", "the first line has no column 'epsilon'"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, text: str, people: str, message: str) -> None:
    done = run(tmp_path, text=text, people=people)
    assert done.exit_code == (2 if people == people_csv() else 1)
    assert message in done.stderr
