"""`stream-ldp simulate` of an item collection: what is answered, what is refused, what is said."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest
from aiokafka.errors import MessageSizeTooLargeError
from typer.testing import Result

from stream_ldp.cli.report import report
from stream_ldp.cli.simulate import simulate
from stream_ldp.cli.simulation.truth import Truth
from stream_ldp.quantity import quantity
from tests.cli.films import QUICK, data_file, report_counts
from tests.client.examples import write_survey
from tests.client.fakes import FakeBroker
from tests.client.items import films

Run = Callable[..., Result]


def test_simulate_prints_the_reports_of_each_phase_and_saves_the_truth(
    broker: FakeBroker, command_line: Run, quick: Path, tmp_path: Path
) -> None:
    data = data_file(tmp_path, "Alien Brazil\nAlien\n\nHeat Alien Alien\n")
    truth_file = tmp_path / "truth.json"
    result = command_line(simulate, quick, "--data", data, "--users", 4, "--truth", truth_file)
    assert (result.exit_code, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    # A slow machine may be too late for some of them; what is said is what was sent.
    first, second = report_counts(broker)
    assert lines[0].endswith(f" phase 1 of 2: {first} of 4 users reported on 8 items")
    assert lines[1].endswith(f" phase 2 of 2: {second} of 4 users reported on 4 items")
    assert lines[2].startswith(f"{quantity(first + second, 'report')} of 4 simulated users in ")
    assert lines[3:] == ["true top 2:", "   1 Alien 0.7500", "   2 Brazil 0.2500"]
    truth = Truth.load(truth_file)
    numbers = {names: share for (_, names), share in truth.population.numbers("items").items()}
    assert numbers == {("Alien",): 0.75, ("Brazil",): 0.25, ("Heat",): 0.25}
    assert truth.fingerprint == films(**QUICK).fingerprint.hex()


def test_a_population_is_as_large_as_asked_for(
    broker: FakeBroker, command_line: Run, quick: Path, tmp_path: Path
) -> None:
    packed = tmp_path / "films.txt.gz"
    packed.write_bytes(gzip.compress(b"Alien Brazil\nGilda\n"))
    result = command_line(simulate, quick, "--data", packed, "--users", 3_000, "--seed", 1, "--epochs", 2)
    assert result.exit_code == 0
    assert "hides nothing: use it for simulated users only" in result.stderr
    lines = result.stdout.splitlines()
    assert sum(" of 3,000 users reported" in line for line in lines) == 4
    assert lines[4].startswith(f"{quantity(sum(report_counts(broker)), 'report')} of 3,000 simulated users")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("Alien\nTelltale\n", ":2: an item of the set is not among the collection's items"),
        ("Alien\nBrazil,Telltale\n", ":2: it has a comma, but the items of a line are separated by blanks"),
        ('["Telltale"\n', ":1: not JSON"),
        ("", "empty; it needs a user's items on each line"),
    ],
)
def test_a_file_that_is_not_a_population_is_refused_without_repeating_its_items(
    broker: FakeBroker, command_line: Run, quick: Path, tmp_path: Path, text: str, problem: str
) -> None:
    result = command_line(simulate, quick, "--data", data_file(tmp_path, text))
    assert result.exit_code == 1
    assert problem in result.stderr
    assert "Telltale" not in result.output
    assert broker.sent == []


def test_lost_reports_of_a_population_end_the_command_with_an_error(
    broker: FakeBroker, command_line: Run, quick: Path, tmp_path: Path
) -> None:
    broker.error = MessageSizeTooLargeError()
    result = command_line(simulate, quick, "--data", data_file(tmp_path, "Alien\n"))
    assert result.exit_code == 1
    assert "was not acknowledged" in result.stderr
    assert "0 reports of 1 simulated user" in result.stdout


@pytest.mark.parametrize("option", ["--rate", "--windows"])
def test_an_option_for_records_is_refused_for_item_sets(
    broker: FakeBroker, command_line: Run, quick: Path, tmp_path: Path, option: str
) -> None:
    result = command_line(simulate, quick, "--data", data_file(tmp_path, "Alien\n"), option, 1)
    assert result.exit_code == 2
    assert "for collections of records" in result.stderr


def test_an_option_for_item_sets_is_refused_for_records(
    broker: FakeBroker, command_line: Run, tmp_path: Path
) -> None:
    survey = write_survey(tmp_path / "survey.yaml")
    simulated = command_line(simulate, survey, "--data", survey, "--epochs", 1)
    reported = command_line(report, survey, "--epochs", 1)
    assert simulated.exit_code == reported.exit_code == 2
    assert "which care-survey is not: leave it out" in simulated.stderr
    assert "which care-survey is not: leave it out" in reported.stderr
