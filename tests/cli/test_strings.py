"""Tests of the commands with a collection of strings: who is simulated, what is reported, and what is refused."""

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
from tests.strings.examples import TEXT, collection_of

Run = Callable[..., Result]

COLLECTION = collection_of()
PEOPLE = "word,town\nfig,x\nbanana,y\nfig,z\n"


@pytest.fixture
def broker(broker: FakeBroker) -> FakeBroker:
    broker.topics = {"stream-ldp.words.reports"}
    return broker


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "words.yaml"
    text = TEXT.format(
        mechanism="epsilon: 4, k: 8", string="length: 6, alphabet: abcdefghijklmnopqrstuvwxyz", window="", more=""
    )
    path.write_text(text, encoding="utf-8")
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
    rows = broker.decoded(COLLECTION).rows[0]
    # Seeded; each question is asked of 75 users or more, and of none with probability below 10^-30.
    assert np.bincount(rows[:, 0], minlength=3).sum() == 300
    assert np.all(np.bincount(rows[:, 0], minlength=3) > 0)
    found = Truth.load(truth)
    assert set(found.population.totals) == {("strings", "", ("fig",), 2.0), ("strings", "", ("banana",), 1.0)}
    assert sum(each.users for each in found.windows) == 300


def test_the_truth_is_printed_where_no_file_is_given(
    broker: FakeBroker, command_line: Run, tmp_path: Path, file: Path
) -> None:
    done = command_line(simulate, file, "--data", written(tmp_path, PEOPLE), "--seed", 3)
    assert done.exit_code == 0, done.output
    assert "strings truth reports=3 fig=0.6667 banana=0.3333" in done.stdout


def test_users_whose_string_cannot_be_found_are_simulated_too(
    broker: FakeBroker, command_line: Run, tmp_path: Path, file: Path
) -> None:
    people = written(tmp_path, PEOPLE.replace("banana", "Banana") + "bananas,u\n")
    done = command_line(simulate, file, "--data", people, "--seed", 3)
    assert done.exit_code == 0, done.output
    assert "strings truth reports=4 fig=0.5000" in done.stdout
    assert "anana" not in done.output
    assert broker.decoded(COLLECTION).counts.sum() == 4


def test_a_table_without_the_column_is_refused(
    broker: FakeBroker, command_line: Run, tmp_path: Path, file: Path
) -> None:
    done = command_line(simulate, file, "--data", written(tmp_path, "fruit\nfig\n"))
    assert done.exit_code != 0
    assert "the first line has no column 'word'" in done.stderr
    assert broker.sent == []


def test_text_that_is_not_utf_8_is_refused(broker: FakeBroker, command_line: Run, tmp_path: Path, file: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_bytes(b"word\nfig\nb\xffd\n")
    assert "not text in UTF-8" in command_line(simulate, file, "--data", path).stderr
    done = command_line(report, file, path, "--secret-file", tmp_path / "secret", "--budget", 4, "--linked")
    assert done.exit_code == 1
    assert "people.csv:3: not UTF-8" in done.stderr


def test_a_user_reports_and_is_told_what_it_has_cost(
    broker: FakeBroker, command_line: Run, tmp_path: Path, file: Path
) -> None:
    records = written(tmp_path, "word\nfig\nfig\n")
    done = command_line(report, file, records, "--secret-file", tmp_path / "secret", "--budget", 4, "--linked")
    assert done.exit_code == 0, done.output
    assert "2 reports of one user published" in done.stdout
    assert "4.000 of 4 nats spent" in done.stdout
    first, second = broker.decoded(COLLECTION).rows[0].tolist()
    assert first == second
