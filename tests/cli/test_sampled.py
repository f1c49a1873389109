"""Tests of the commands with a sampled collection: who is simulated, what is reported, and what is refused."""

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
from tests.marginals.examples import TEXT, collection_of

Run = Callable[..., Result]

COLLECTION = collection_of()
PEOPLE = "diet,age,smokes,town\nmeat,30,no,x\nfish,40.5,no,y\nmeat,50,yes,z\n"


@pytest.fixture
def broker(broker: FakeBroker) -> FakeBroker:
    broker.topics = {"stream-ldp.diets.reports"}
    return broker


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "diets.yaml"
    path.write_text(TEXT.format(mechanism="epsilon: 2", window=""), encoding="utf-8")
    return path


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "people.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_simulated_users_answer_one_question_each_and_their_truth_is_written(
    broker: FakeBroker, command_line: Run, tmp_path: Path, file: Path
) -> None:
    people, truth = written(tmp_path, PEOPLE), tmp_path / "truth.json"
    done = command_line(simulate, file, "--data", people, "--users", 300, "--seed", 3, "--truth", truth)
    assert done.exit_code == 0, done.output
    sums = COLLECTION.questions.sums(broker.decoded(COLLECTION).rows[0])
    # Seeded; each question is asked of 33 to 100 users, and of none with probability below 10^-14.
    assert COLLECTION.questions.draws(sums).sum() == 300
    assert np.all(COLLECTION.questions.draws(sums) > 0)
    found = Truth.load(truth)
    assert found.population.numbers("marginals")["age", ("mean",)] == pytest.approx(120.5 / 3)
    assert sum(each.users for each in found.windows) == 300


def test_the_truth_is_printed_where_no_file_is_given(
    broker: FakeBroker, command_line: Run, tmp_path: Path, file: Path
) -> None:
    done = command_line(simulate, file, "--data", written(tmp_path, PEOPLE), "--seed", 3)
    assert done.exit_code == 0, done.output
    assert "marginals truth reports=" in done.stdout


@pytest.mark.parametrize(
    ("people", "message"),
    [
        (PEOPLE.replace("40.5", "nan"), "people.csv:3: attribute 'age': the given number is not from 0 to 100"),
        (PEOPLE.replace("fish", "tofu"), "people.csv:3: attribute 'diet': the given value is not one of meat, fish"),
        ("diet,age\nmeat,30\n", "the first line has no column 'smokes'"),
    ],
)
def test_a_table_that_is_no_population_is_refused_without_its_values(
    broker: FakeBroker, command_line: Run, tmp_path: Path, file: Path, people: str, message: str
) -> None:
    done = command_line(simulate, file, "--data", written(tmp_path, people))
    assert done.exit_code != 0
    assert message in done.stderr
    assert "tofu" not in done.output
    assert broker.sent == []


def test_a_user_reports_and_is_told_what_it_has_cost(
    broker: FakeBroker, command_line: Run, tmp_path: Path, file: Path
) -> None:
    records = written(tmp_path, "diet,age,smokes\nfish,41,no\nfish,41,no\n")
    flags = ("--secret-file", tmp_path / "secret", "--budget", 2)
    done = command_line(report, file, records, *flags)
    assert done.exit_code == 0, done.output
    assert "2 reports of one user published" in done.stdout
    assert "2.000 of 2 nats spent" in done.stdout
    first, second = broker.decoded(COLLECTION).rows[0].tolist()
    assert first == second
