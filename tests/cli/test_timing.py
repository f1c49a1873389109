"""Tests of what `plan` says of the time of solves."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from stream_ldp.cli import app, timing
from stream_ldp.records import solve_time
from stream_ldp.records.collection import JointCollection
from tests.client.examples import write_survey

pytestmark = pytest.mark.usefixtures("few_draws")


@pytest.fixture
def survey(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write a collection each of whose solves is said to take a second and a half."""
    monkeypatch.setattr(timing, "measured", lambda work: 1.5 + 0 * bool(work()))
    return write_survey(tmp_path / "survey.yaml")


def plan(*arguments: str) -> str:
    done = CliRunner().invoke(app, ["plan", *arguments], env={"COLUMNS": "200"})
    assert done.exit_code == 0, done.output
    return done.stdout


def test_a_plan_says_how_long_solves_take_and_for_what_that_is_too_slow(survey: Path) -> None:
    shown = plan(str(survey), "--reports", "100000")
    assert "Time of a solve on this machine" in shown
    assert shown.count("1.5 / 1.5 s") == 2
    assert "Too slow: mobility: with 100,000 reports a solve takes about 1.5 s, more than 50% of `every`" in shown


def test_a_plan_as_json_has_the_times_of_every_series_and_number_of_reports(survey: Path) -> None:
    document = json.loads(plan(str(survey), "--json", "--reports", "100000", "--reports", "200000"))
    assert document["solves"][0] == {"series": "bathing-mobility", "reports": 100_000, "first_s": 1.5, "later_s": 1.5}
    assert [(each["series"], each["reports"]) for each in document["solves"]] == [
        (name, reports) for name in ("bathing-mobility", "mobility") for reports in (100_000, 200_000)
    ]
    assert len(document["too_slow"]) == 2


def test_where_solves_take_long_no_large_sample_is_solved_and_none_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timing, "measured", lambda work: 90.0 + 0 * bool(work()))
    drawn: list[tuple[int, int]] = []
    draw = solve_time.drawn

    def noted(collection: JointCollection, reports: int, *, seed: int) -> Any:
        drawn.append((reports, seed))
        return draw(collection, reports, seed=seed)

    monkeypatch.setattr(solve_time, "drawn", noted)
    collection = JointCollection.load(write_survey(tmp_path / "survey.yaml"))
    timing.solve_times(collection, populations=[100_000])
    assert 0 < max(drawn)[0] <= 10_000
    assert len(set(drawn)) == len(drawn)


def test_what_is_measured_is_the_time_of_the_work() -> None:
    done: list[int] = []
    assert timing.measured(lambda: done.append(1)) >= 0.0
    assert done == [1]
