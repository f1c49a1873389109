"""`stream-ldp evaluate synthesis`: the numbers, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from stream_ldp.cli import app
from tests.cli.evaluate.test_views import table  # noqa: F401  a fixture


def run(data: Path, *flags: str) -> Result:
    arguments = ["evaluate", "synthesis", "--data", str(data), *flags]
    return CliRunner().invoke(app, arguments, env={"COLUMNS": "300"})


def test_methods_are_scored_by_epsilon(table: Path) -> None:  # noqa: F811
    flags = ["--label", "walks", "--epsilon", "2,4", "--methods", "auto,tree,independent", "--repeats", "1"]
    found = run(table, *flags, "--json")
    assert found.exit_code == 0, found.output
    assert found.stderr == "", "progress on something that is no terminal"
    results = json.loads(found.stdout)["results"]
    assert [(each["method"], each["epsilon"]) for each in results[:4]] == [
        ("auto", 2.0),
        ("tree", 2.0),
        ("independent", 2.0),
        ("auto", 4.0),
    ]
    wanted = {"method", "epsilon", "avd2", "avd3", "avd5", "accuracy", "auc", "accuracy_real"}
    assert all(wanted <= set(each) for each in results)
    shown = run(table, *flags)
    assert "400 synthetic records beside those of the users; label: walks" in shown.stdout


@pytest.mark.parametrize(
    ("flags", "problem"),
    [
        (["--label", "walk"], "--label 'walk' is not an attribute; did you mean 'walks'?"),
        (["--label", "walks", "--methods", "trees"], "'trees' is not a method; did you mean 'tree'?"),
        (["--label", "walks", "--of", "walks"], "records of two attributes or more are needed"),
    ],
)
def test_what_cannot_be_compared_is_refused(table: Path, flags: list[str], problem: str) -> None:  # noqa: F811
    found = run(table, "--epsilon", "1", *flags)
    assert found.exit_code in {1, 2}  # 1 for the table, 2 for an option
    assert problem in found.stderr
