"""Tests of the commands with a collection of places: who is simulated, what is reported, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from typer.testing import Result

from stream_ldp.cli.report import report
from stream_ldp.cli.simulate import simulate
from stream_ldp.cli.simulation.truth import Truth
from tests.client.fakes import FakeBroker
from tests.places.examples import TEXT, collection_of, people_csv, users

Run = Callable[..., Result]

COLLECTION = collection_of()


@pytest.fixture
def broker(broker: FakeBroker) -> FakeBroker:
    broker.topics = {"stream-ldp.visits.reports"}
    return broker


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "visits.yaml"
    path.write_text(TEXT.format(mechanism="epsilon: [0.5, 2]", window=""), encoding="utf-8")
    return path


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "people.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_simulated_users_answer_within_their_regions_and_their_truth_is_written(
    broker: FakeBroker, command_line: Run, tmp_path: Path, file: Path
) -> None:
    people, truth = written(tmp_path, people_csv(30)), tmp_path / "truth.json"
    done = command_line(simulate, file, "--data", people, "--seed", 3, "--truth", truth)
    assert done.exit_code == 0, done.output
    sums = COLLECTION.questions.sums(broker.decoded(COLLECTION).rows[0])
    assert np.array_equal(COLLECTION.questions.draws(sums), np.bincount(COLLECTION.chosen(users(30)), minlength=6))
    found = Truth.load(truth)
    assert found.population.totals[0] == ("places", "", ("a",), (users(30)["0"] == 0).sum())
    assert sum(each.users for each in found.windows) == 30


def test_the_truth_is_printed_where_no_file_is_given(
    broker: FakeBroker, command_line: Run, tmp_path: Path, file: Path
) -> None:
    done = command_line(simulate, file, "--data", written(tmp_path, people_csv()), "--seed", 3)
    assert done.exit_code == 0, done.output
    assert "places truth reports=30 a=" in done.stdout


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("z,south,2", "people.csv:2: attribute 'place': the given value is not one of a, b, c, d, e"),
        ("d,east,2", "people.csv:2: attribute 'region': the given value is not one of everywhere, north, south"),
        ("d,south,1", "people.csv:2: attribute 'epsilon': the given value is not one of 0.5, 2"),
        ("d,north,2", "people.csv:2: the place is outside the region 'north'"),
    ],
)
def test_a_table_that_is_no_population_is_refused(
    broker: FakeBroker, command_line: Run, tmp_path: Path, file: Path, line: str, message: str
) -> None:
    done = command_line(simulate, file, "--data", written(tmp_path, f"place,region,epsilon\n{line}\n"))
    assert done.exit_code != 0
    assert message in done.stderr
    assert broker.sent == []


def test_a_user_reports_and_is_charged_the_epsilon_that_was_chosen(
    broker: FakeBroker, command_line: Run, tmp_path: Path, file: Path
) -> None:
    records = written(tmp_path, "place,region,epsilon\nd,south,2\nd,south,2\n")
    done = command_line(report, file, records, "--secret-file", tmp_path / "secret", "--budget", 4)
    assert done.exit_code == 0, done.output
    assert "2 reports of one user published" in done.stdout
    assert "2.000 of 4 nats spent" in done.stdout
    first, second = broker.decoded(COLLECTION).rows[0].tolist()
    assert first == second
