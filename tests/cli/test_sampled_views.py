"""Tests of the commands with a collection of views: who is simulated, what is reported, shown, and audited."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console
from typer.testing import Result

from stream_ldp.cli.check import check
from stream_ldp.cli.displays.display import Display
from stream_ldp.cli.report import report
from stream_ldp.cli.simulate import simulate
from stream_ldp.cli.simulation.truth import Truth
from stream_ldp.records.answer import Estimate
from tests.client.fakes import FakeBroker
from tests.views.examples import TEXT, collection_of, estimated

Run = Callable[..., Result]

ESTIMATES = "[{name: care, of: [bathes, walks]}]"
COLLECTION = collection_of("epsilon: 2, ask: pairs", estimates=ESTIMATES)
PEOPLE = "walks,bathes,diet,region\nno,yes,meat,north\nyes,yes,fish,south\nno,no,plants,south\nno,yes,fish,south\n"


@pytest.fixture
def broker(broker: FakeBroker) -> FakeBroker:
    broker.topics = {"stream-ldp.care.reports"}
    return broker


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "care.yaml"
    path.write_text(TEXT.format(mechanism="epsilon: 2, ask: pairs", estimates=ESTIMATES, window=""), encoding="utf-8")
    return path


def people(tmp_path: Path) -> Path:
    path = tmp_path / "people.csv"
    path.write_text(PEOPLE, encoding="utf-8")
    return path


def test_simulated_users_tell_one_view_each_and_their_truth_is_written(
    broker: FakeBroker, command_line: Run, tmp_path: Path, file: Path
) -> None:
    truth = tmp_path / "truth.json"
    done = command_line(simulate, file, "--data", people(tmp_path), "--users", 300, "--seed", 3, "--truth", truth)
    assert done.exit_code == 0, done.output
    draws = COLLECTION.questions.draws(COLLECTION.questions.sums(broker.decoded(COLLECTION).rows[0]))
    # Seeded; a view is told by 40 users or more of 300, and by none with probability below 10^-17.
    assert draws.sum() == 300
    assert np.all(draws > 0)
    numbers = Truth.load(truth).population.numbers("care")
    assert sorted(numbers.values()) == [0.25, 0.25, 0.5]


def test_the_truth_is_printed_where_no_file_is_given(
    broker: FakeBroker, command_line: Run, tmp_path: Path, file: Path
) -> None:
    done = command_line(simulate, file, "--data", people(tmp_path), "--seed", 3)
    assert done.exit_code == 0, done.output
    assert "care truth reports=" in done.stdout
    assert "yes,no=0.5000" in done.stdout


def test_a_user_who_repeats_a_record_pays_once(
    broker: FakeBroker, command_line: Run, tmp_path: Path, file: Path
) -> None:
    records = tmp_path / "mine.csv"
    records.write_text("walks,bathes,diet,region\nno,yes,meat,north\nno,yes,meat,north\n", encoding="utf-8")
    done = command_line(report, file, records, "--secret-file", tmp_path / "secret", "--budget", 2)
    assert done.exit_code == 0, done.output
    rows = broker.decoded(COLLECTION).rows[0]
    assert len(rows) == 2
    assert (rows[0] == rows[1]).all()
    # Another design is another question, which the budget does not pay for.
    file.write_text(
        file.read_text(encoding="utf-8").replace("ask: pairs", "ask: [[walks, bathes]]"), encoding="utf-8"
    )
    again = command_line(report, file, records, "--secret-file", tmp_path / "secret")
    assert again.exit_code == 1
    assert "budget" in again.stderr


def test_the_file_is_checked_and_its_estimates_shown(command_line: Run, file: Path) -> None:
    done = command_line(check, file)
    assert "4 attributes in 6 views" in done.stdout
    estimate = estimated(COLLECTION, 2_000)
    display: Display[Estimate] = Display(lambda _: {cell.key: 0.25 for cell in estimate.cells()})
    assert "dependent=yes" in display.line(estimate)
    console = Console(width=200)
    with console.capture() as captured:
        console.print(display.panel(estimate))
    assert "made of 5 of 5 views" in captured.get()
    assert {"truth", "distance", "views"} <= set(json.loads(display.json(estimate)))
