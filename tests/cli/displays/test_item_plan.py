"""The plan of an item collection as a table and as JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from stream_ldp.cli import app

TEXT = """
collection: films
mechanism: {{{mechanism}}}
items: {{size: 32}}
window: {{size: 60s, grace: 5s}}
epochs: {epochs}
"""

GFIM = "kind: gfim, epsilon: 2, k: 4, finalists: 6, set_size: 3"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "films.yaml"
    path.write_text(TEXT.format(mechanism=GFIM, epochs="sequential"), encoding="utf-8")
    return path


def run(file: Path, *flags: str) -> Any:
    return CliRunner().invoke(app, ["plan", str(file), *flags], env={"COLUMNS": "200"})


def test_the_json_gives_phases_privacy_and_errors(file: Path) -> None:
    done = run(file, "--json", "--users", "500", "--users", "50000")
    assert done.exit_code == 0, done.output
    document = json.loads(done.stdout)
    assert [(phase["number"], phase["asked"], phase["part"]) for phase in document["phases"]] == [
        (1, "item", 1.0),
        (2, "item", 0.5),
        (3, "item", 0.5),
    ]
    assert [phase["epsilon"] for phase in document["phases"]] == pytest.approx([1.2, 0.8, 0.8])
    assert [spent["epochs"] for spent in document["privacy"]] == [1, 7, 30, 365]
    few, many = document["phases"][-1]["errors"]
    assert (few["users"], many["users"]) == (500, 50_000)
    assert few["standard_error"] == pytest.approx(10 * many["standard_error"])


def test_the_table_says_what_each_phase_asks_and_costs(file: Path) -> None:
    done = run(file)
    assert done.exit_code == 0, done.output
    for part in ["gfim for the top 4 of 32 items", "takes 3m", "a result every 3m", "1.200", "365", "730.000"]:
        assert part in done.stdout
    (row,) = (line for line in done.stdout.splitlines() if "items of 12, l = 3" in line)
    assert row.split()[:2] == ["2", "50%"]


@pytest.mark.parametrize(
    ("mechanism", "said"),
    [
        ("epsilon: 2, k: 4", "gets the same: up to epsilon 2, it finds more than svim"),
        ("epsilon: 3, k: 4", "gets the same: above epsilon 2, gfim-users finds less"),
        ("kind: svim, epsilon: 2, k: 4", "would get gfim-users: up to epsilon 2"),
        ("kind: gfim, epsilon: 3, k: 4", "would get svim: above epsilon 2"),
    ],
)
def test_the_plan_says_which_method_is_the_usual_one_and_why(file: Path, mechanism: str, said: str) -> None:
    file.write_text(TEXT.format(mechanism=mechanism, epochs="sequential"), encoding="utf-8")
    assert said in run(file).stdout


def test_no_method_is_usual_in_place_of_one_to_which_users_answer_again_and_again(file: Path) -> None:
    file.write_text(TEXT.format(mechanism="kind: loloha, epsilon: 1, k: 4, set_size: 3", epochs="sequential"))
    assert "without a kind" not in run(file).stdout
    assert json.loads(run(file, "--json").stdout)["usual"] is None


def test_the_option_for_ever_is_refused_for_an_item_collection(file: Path) -> None:
    done = run(file, "--for-ever", "3")
    assert done.exit_code == 2
    assert "for collections of records" in done.stderr


def test_the_table_says_what_a_day_costs_and_how_long_a_budget_lasts(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    assert "spends 960 nats a day on average" in run(file).stdout
    file.write_text(text + "sample: 0.001\n", encoding="utf-8")
    done = run(file)
    assert done.exit_code == 0, done.output
    assert "Each epoch asks 0.10% of the users" in done.stdout
    assert "spends 0.96 nats a day on average" in done.stdout
    (row,) = (line for line in done.stdout.splitlines() if line.split()[:2] == ["8", "4"])
    assert row.split() == ["8", "4", "8.3", "days"]
