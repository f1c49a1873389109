"""`stream-ldp report` of an item collection: what is answered, what is refused, what is said."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

from stream_ldp.cli.report import report
from stream_ldp.quantity import quantity
from stream_ldp.sets.collection import ItemCollection
from tests.cli.films import QUICK, data_file, epochs_to_come, report_counts
from tests.client.fakes import FakeBroker
from tests.client.items import film_round, films, films_text, reports_sent

Run = Callable[..., Result]


def test_a_user_is_told_of_each_report_and_what_it_costs(
    broker: FakeBroker, command_line: Run, quick: Path, tmp_path: Path
) -> None:
    given = [data_file(tmp_path, "Alien Gilda\n"), "--secret-file", tmp_path / "secret", "--budget", "inf"]
    result = command_line(report, quick, *given, "--epochs", 2)
    assert (result.exit_code, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    first, second = report_counts(broker)
    assert lines[-2] == f"{quantity(first + second, 'report')} of one user published"
    assert lines[-1] == f"{15.0 * (first + second):.3f} nats spent: any two users, however their values change"
    # The first epoch may be nearly over when the command begins.
    assert 1 <= first + second <= 4
    assert len(lines) == first + second + 2
    assert all(line.endswith(": reported, for 15.000 nats") for line in lines[:-2])


def test_a_user_holds_the_set_on_the_last_line_of_a_file(
    broker: FakeBroker, command_line: Run, quick: Path, tmp_path: Path
) -> None:
    sets = data_file(tmp_path, 'Alien\nBrazil Dogville\n["Casablanca", "Fargo"]\n')
    secret = ["--secret-file", tmp_path / "secret", "--budget", "inf"]
    assert command_line(report, quick, sets, *secret, "--epochs", 3).exit_code == 0
    collection = films(**QUICK)
    first = film_round(1, epoch=0, collection=collection)
    layouts = [film_round(2, epoch=each, collection=collection, candidates=range(4)) for each in recent(collection)]
    found, *_ = reports_sent(broker, first, *layouts, collection=collection)
    assert found.total >= 1
    assert found.supports[[2, 5]].sum() == found.supports.sum() == found.total


def recent(collection: ItemCollection) -> range:
    first = epochs_to_come(collection)[0]
    return range(first - 20, first + 2)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("Alien\nTelltale\n", "an item of the set is not among the collection's items"),
        ("Alien\nBrazil, Telltale\n", "films.txt:2: it has a comma"),
        ("Alien\n[1]\n", "films.txt:2: not a JSON list of strings"),
        pytest.param(f"[{'1' * 5_000}]\n", "films.txt:1: not a JSON list of strings", id="a long number"),
    ],
)
def test_a_line_that_is_not_a_set_is_refused_without_being_repeated(
    broker: FakeBroker, command_line: Run, quick: Path, tmp_path: Path, text: str, problem: str
) -> None:
    result = command_line(
        report, quick, data_file(tmp_path, text), "--secret-file", tmp_path / "secret", "--budget", "inf"
    )
    assert result.exit_code == 1
    assert problem in result.stderr
    assert "Telltale" not in result.output


def test_a_spent_budget_ends_the_command(broker: FakeBroker, command_line: Run, quick: Path, tmp_path: Path) -> None:
    flags = [data_file(tmp_path, "Alien\n"), "--secret-file", tmp_path / "secret", "--budget", 20]
    result = command_line(report, quick, *flags)
    assert result.exit_code == 1
    assert "1 report of one user published" in result.stdout
    assert "15.000 of 20 nats spent" in result.stdout
    assert "would cost 15.000 nats of privacy, and 5.000 are left of a budget of 20" in result.stderr
    assert sum(report_counts(broker)) == 1


@pytest.mark.parametrize(
    "flags",
    [
        ["--many-users"],
        ["--max-values", "2", "--assume", "values"],
        ["--skip-bad"],
        ["--format", "csv"],
        ["--assume", "fresh"],
    ],
    ids=lambda flags: flags[0],
)
def test_a_report_option_for_records_is_refused_for_item_sets(
    broker: FakeBroker, command_line: Run, quick: Path, tmp_path: Path, flags: list[str]
) -> None:
    result = command_line(report, quick, data_file(tmp_path, "Alien\n"), "--secret-file", tmp_path / "secret", *flags)
    assert result.exit_code == 2
    assert "for collections" in result.stderr
    assert not (tmp_path / "secret").exists()


def test_a_set_is_no_argument_which_every_user_of_the_machine_could_read(
    broker: FakeBroker, command_line: Run, quick: Path, tmp_path: Path
) -> None:
    result = command_line(report, quick, "--items", "Alien", "--secret-file", tmp_path / "secret", "--budget", 20)
    assert result.exit_code == 2
    assert not (tmp_path / "secret").exists()


def test_a_user_of_memoised_reports_may_assume_values_and_is_charged_by_closed_form(
    broker: FakeBroker, command_line: Run, quick: Path, tmp_path: Path
) -> None:
    mechanism = "{kind: loloha, epsilon: 1, for_ever: 2, k: 2, set_size: 2}"
    quick.write_text(films_text(mechanism=mechanism, size="700ms"), encoding="utf-8")
    assumed = ["--budget", 4, "--assume", "values", "--max-values", 2]
    result = command_line(
        report, quick, data_file(tmp_path, "Alien\n"), "--secret-file", tmp_path / "secret", *assumed, "--epochs", 2
    )
    assert result.exit_code == 0, result.stderr
    *told, count, spent = result.stdout.splitlines()
    assert all(line.endswith(": reported, for at most 1.000 nats") for line in told)
    assert 1 <= len(told) <= 2
    assert count == f"{quantity(len(told), 'report')} of one user published"
    assert spent.startswith("1.000 of 4 nats spent" if len(told) == 1 else "1.642 of 4 nats spent")
