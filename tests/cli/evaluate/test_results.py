"""The table and the JSON of results."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pytest

from stream_ldp.cli.evaluate.results import Result, echo_results, show_results
from stream_ldp.evaluation.distance import joint_metrics
from stream_ldp.evaluation.experiment import Score
from stream_ldp.evaluation.users_needed import Needed
from stream_ldp.kinds import KINDS
from tests.paths import REPOSITORY


def result(series: str = "care", **options: Any) -> Result:
    metrics: dict[str, float | str] = {
        "avd": 0.123456,
        "avd_sd": 0.01,
        "mse": 1.5e-05,
        "mse_sd": 0.0,
        "epsilon": 2.00001,
        "chosen": "pairs",
    }
    given: dict[str, Any] = {"varied": {"mechanism.epsilon": 2}, "users": 10_000} | options
    return Result(series=series, score=Score(3, metrics | given.pop("metrics", {}), 0.25), **given)


def test_the_json_has_a_result_for_each_series(capsys: pytest.CaptureFixture[str]) -> None:
    searched = [result(searched=True, needed=needed) for needed in (Needed(1_400, 59), None)]
    echo_results([result(), *searched], settings={"data": "people.csv"})
    document = json.loads(capsys.readouterr().out)
    assert document["settings"] == {"data": "people.csv"}
    first, second, third = document["results"]
    assert list(first) == ["series", "varied", "users", "repeats", "metrics", "seconds"]
    assert first["varied"] == {"mechanism.epsilon": 2}
    assert first["metrics"]["avd"] == 0.123456
    assert (second["users_needed"], second["users_needed_error"]) == (1_400, 59)
    assert third["users_needed"] is None


def test_the_table_has_a_row_for_each_result_and_the_deviation_of_the_first_metric(
    capsys: pytest.CaptureFixture[str],
) -> None:
    other = result("more", varied={"window": {"size": "1m"}}, metrics={"found": 3.0, "found_sd": 1.0})
    show_results([result(), other], title="people.csv: [red]means")
    lines = [line.split() for line in capsys.readouterr().out.splitlines() if line.strip()]
    assert lines[0] == ["people.csv:", "[red]means"]
    heading = "series mechanism.epsilon window users avd sd mse epsilon chosen found seconds"
    assert lines[1] == heading.split()
    assert lines[3] == ["care", "2", "10,000", "0.1235", "0.01", "1.5e-05", "2.001", "pairs", "0.250"]
    assert lines[4][:4] == ["more", '{"size":', '"1m"}', "10,000"]
    assert lines[4][-2:] == ["3", "0.250"]


def test_every_column_of_errors_has_its_meaning_in_the_glossary(capsys: pytest.CaptureFixture[str]) -> None:
    show_results([result()], title="")
    assert "docs/glossary.md, under Columns of `evaluate`" in capsys.readouterr().out
    _, columns = (REPOSITORY / "docs" / "glossary.md").read_text(encoding="utf-8").split("## Columns of `evaluate`")
    explained = set(re.findall(r"\*\*(\w+)\*\*", columns))
    predicted = {name for kind in KINDS.values() for name in kind.evaluation.predicts}
    measured = joint_metrics(np.full(2, 0.5), np.full(2, 0.1), np.array([0.4, 0.6]))
    assert {*predicted, *measured, "chosen", "epsilon"} <= explained


def test_the_users_that_a_distance_takes_are_said_below_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    searched = [result(searched=True, needed=needed) for needed in (Needed(1_400, 59), None)]
    show_results(searched, title="")
    said = capsys.readouterr().out.splitlines()[-2:]
    assert said == [
        f"care, mechanism.epsilon=2 needs {users} users." for users in ("1,400 ± 59", "more than 1,000,000")
    ]
